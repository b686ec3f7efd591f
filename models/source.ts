import { findEntry } from './catalog.ts'
import { LayaError } from './errors.ts'

/** Request names that mean "the resident checkpoint": no checkpoint may be called so. */
export const RESIDENT_ALIASES = [
  'laya',
  'default',
  'auto',
  'laya-bar',
  'laya-rl-agent',
  'convaiinnovations/laya',
]

/** Whether `name` can be a folder's name on every system; nothing else ever becomes part of a path. */
export function isCheckpointName(name: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && !name.endsWith('.')
}

/** @throws LayaError `invalid_checkpoint_name` when a user's own checkpoint may not carry `name`. */
export function checkOwnName(name: string): void {
  const hint =
    'Use letters, digits, dots, hyphens and underscores, at most 64, and begin with a letter or digit.'
  if (!isCheckpointName(name))
    throw new LayaError('invalid_checkpoint_name', `'${name}' cannot be the name of a checkpoint.`, { hint })
  // Folder names are the same in both cases on a Mac's usual disk.
  const lower = name.toLowerCase()
  const taken = RESIDENT_ALIASES.includes(lower) || findEntry(lower) !== undefined || /^jev(-|$)/.test(lower)
  if (taken)
    throw new LayaError('invalid_checkpoint_name', `'${name}' already means something else in requests.`, {
      hint: 'Give the checkpoint another name.',
    })
}

/** Where a checkpoint lies on the Hub. */
export interface HubSource {
  repo: string
  /** Branch, tag or commit; the commit is what gets recorded. */
  revision: string
  folder: string
}

/** `owner/name`, `owner/name@revision`, `owner/name@revision:folder/inside`; undefined when it is something else. */
export function parseHubReference(text: string): HubSource | undefined {
  const match = /^([\w.-]+\/[\w.-]+?)(?:@([\w./-]+))?(?::([\w.-]+(?:\/[\w.-]+)*))?$/.exec(text)
  if (!match?.[1]) return undefined
  const parts = `${match[1]}/${match[2] ?? ''}/${match[3] ?? ''}`.split('/')
  if (parts.includes('..') || parts.includes('.')) return undefined
  return { repo: match[1], revision: match[2] ?? 'main', folder: match[3] ?? '' }
}
