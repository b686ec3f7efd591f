import { z } from 'zod'
import { LayaError } from '../../models/errors.ts'
import type { Command } from '../contract.ts'
import { patchSchema } from './settings.ts'

/** Longest request text the playground may send: the server's own body limit, so that its 413 can be seen too. */
const BODY_CHARS = 4_194_304

const name = z.string().min(1).max(200)
const text = z.string().max(BODY_CHARS)
const path = z.string().min(1).max(4096)

const schema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['start', 'stop', 'restart', 'quit', 'recheck']) }),
  z.strictObject({
    kind: z.enum(['use', 'install', 'pause', 'resume', 'cancelInstall', 'verify', 'remove', 'unload']),
    checkpoint: name,
  }),
  z.strictObject({ kind: z.literal('import'), folder: path, name: name.optional() }),
  z.strictObject({ kind: z.enum(['ask', 'fit']), body: text }),
  z.strictObject({
    kind: z.literal('benchmark'),
    mode: z.enum(['quick', 'full']),
    against: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional(),
  }),
  z.strictObject({ kind: z.enum(['cancelBenchmark', 'clearRecents']) }),
  z.strictObject({ kind: z.literal('exportReport'), format: z.enum(['markdown', 'folder']) }),
  z.strictObject({ kind: z.literal('settings'), patch: patchSchema }),
  z.strictObject({ kind: z.literal('open'), what: z.enum(['logs', 'docs', 'reports', 'checkpoints']) }),
  z.strictObject({ kind: z.literal('copy'), what: z.enum(['url', 'curl', 'report']) }),
  z.strictObject({ kind: z.literal('reveal'), id: name }),
  z.strictObject({ kind: z.literal('dismiss'), notice: name }),
])

/**
 * A command as it came over a border: from a page, a socket or another process.
 *
 * @throws LayaError `invalid_command` (with a field error each); a bad settings patch keeps the settings' own words.
 */
export function parseCommand(value: unknown): Command {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data as Command
  const errors = parsed.error.issues.map((issue) => ({
    parameter: issue.path.join('.') || (issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : 'kind'),
    detail: issue.message,
  }))
  const first = errors[0]!
  throw new LayaError(
    'invalid_command',
    `This command cannot be understood: ${first.parameter}: ${first.detail}.`,
    {
      errors,
      hint: 'Reload the panel: it may be older than the program.',
    },
  )
}
