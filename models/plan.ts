import { basename } from 'node:path'
import { CATALOG, findEntry } from './catalog.ts'
import { LayaError } from './errors.ts'
import type { FoundCopy } from './hub-cache.ts'
import { type FolderSource, sourceOf } from './install.ts'
import { checkOwnName, type HubSource, parseHubReference } from './source.ts'

/** What an installation will do, before anything is done. */
export type InstallPlan =
  | { kind: 'hub'; name: string; source: HubSource }
  | { kind: 'folder'; name: string; source: FolderSource }

/**
 * Decides where a checkpoint comes from: a copy on this machine before the Hub.
 *
 * @param wanted name or alias of a published checkpoint, name of a found copy, or `owner/name[@revision][:folder]`.
 * @param own name the user wants it to have; for checkpoints of the user's only.
 * @throws LayaError `unknown_model`, `invalid_checkpoint_name`, `checkpoint_exists` for the demo.
 */
export function planInstall(
  wanted: string,
  own: string | undefined,
  copies: readonly FoundCopy[],
): InstallPlan {
  const entry = findEntry(wanted)
  if (entry?.demo)
    throw new LayaError('checkpoint_exists', `'${entry.name}' is part of Laya Bar and always installed.`)
  if (entry) {
    if (own && own !== entry.name)
      throw new LayaError('invalid_checkpoint_name', `'${entry.name}' keeps its own name.`, {
        hint: 'Leave out --name.',
      })
    const copy = copies.find((one) => one.entry?.name === entry.name)
    if (copy) return { kind: 'folder', name: entry.name, source: sourceOfCopy(copy) }
    return { kind: 'hub', name: entry.name, source: sourceOf(entry) }
  }
  const copy = copies.find(({ name }) => name === wanted)
  if (copy) return { kind: 'folder', name: checkedName(own ?? copy.name), source: sourceOfCopy(copy) }
  const source = parseHubReference(wanted)
  if (!source) {
    const names = CATALOG.filter(({ demo }) => !demo).map(({ name }) => name)
    throw new LayaError('unknown_model', `There is no checkpoint called '${wanted}'.`, {
      hint: `Choose ${names.join(', ')}, or owner/name@revision of a repository on the Hub.`,
    })
  }
  const same = copies.find(({ repo, revision }) => repo === source.repo && revision === source.revision)
  const name = checkedName(own ?? nameOf(source))
  return same ? { kind: 'folder', name, source: sourceOfCopy(same) } : { kind: 'hub', name, source }
}

function sourceOfCopy({ folder, where, repo, revision }: FoundCopy): FolderSource {
  return { folder, origin: where === 'folder' ? 'folder' : 'cache', repo, revision }
}

function nameOf({ repo, folder }: HubSource): string {
  return folder === '' ? basename(repo) : `${basename(repo)}-${folder.replaceAll('/', '-')}`
}

function checkedName(name: string): string {
  checkOwnName(name)
  return name
}
