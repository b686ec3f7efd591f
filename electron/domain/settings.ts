import { z } from 'zod'
import { type FieldError, LayaError } from '../../models/errors.ts'
import type { Settings, SettingsPatch } from '../contract.ts'

/** What the settings file holds. The token is here and nowhere else: `Settings` only tells whether there is one. */
export type StoredSettings = Omit<Settings, 'tokenSet'> & { token: string | null }

/** Version of the file's layout. Raise it together with an entry in `MIGRATIONS`. */
export const SETTINGS_VERSION = 1

/** Step n turns a file of version n into one of version n + 1. */
const MIGRATIONS: Record<number, (old: Record<string, unknown>) => Record<string, unknown>> = {
  // Version 0 had no version member; everything else was the same.
  0: (old) => old,
}

const origin = z
  .string()
  .refine(isOrigin, 'must be an exact origin such as http://localhost:3000, without a path or a wildcard')
const httpUrl = z.string().refine(isHttpUrl, 'must be an http or https address')
const whole = (least: number, most: number) =>
  z.number(`must be a whole number between ${least} and ${most}`).refine((value) => {
    return Number.isInteger(value) && value >= least && value <= most
  }, `must be a whole number between ${least} and ${most}`)
const flag = z.boolean('must be true or false')

/** One entry per setting: what it may be, in words that the panel can show beside the field. */
const FIELDS = {
  serveAtStart: flag,
  openAtLogin: flag,
  port: whole(1, 65_535),
  allowedOrigins: z.array(origin).max(64, 'may hold at most 64 origins'),
  queueCapacity: whole(0, 1024),
  overflow: z.enum(['truncate', 'reject'], "must be 'truncate' or 'reject'"),
  idleUnloadSeconds: whole(0, 604_800),
  keepWarm: flag,
  engine: z.enum(
    ['auto', 'cpu', 'coreml', 'coreml-native', 'webgpu'],
    "must be 'auto', 'cpu', 'coreml', 'coreml-native' or 'webgpu'",
  ),
  requireDevice: flag,
  checkpoint: z.string('must be the name of a checkpoint').min(1, 'must be the name of a checkpoint').max(64),
  loadOnDemand: flag,
  secondResident: flag,
  memoryLimitMb: whole(0, 1_048_576),
  hubEndpoint: httpUrl.nullable(),
  proxy: httpUrl.nullable(),
  offline: flag,
  checkpointFolders: z.array(z.string().min(1)).max(64, 'may hold at most 64 folders'),
  appearance: z.enum(['system', 'light', 'dark'], "must be 'system', 'light' or 'dark'"),
  logLevel: z.enum(['debug', 'info', 'warn', 'error'], "must be 'debug', 'info', 'warn' or 'error'"),
  updateCheck: flag,
  firstRunDone: flag,
  token: z
    .string('must be text')
    .refine((value) => /^[\x21-\x7e]{1,256}$/.test(value), 'must be 1 to 256 visible ASCII characters')
    .nullable(),
} satisfies Record<keyof StoredSettings, z.ZodType>

/** The patch as it arrives from a panel. Every member is optional; a name that is no setting is refused. */
export const patchSchema = z.strictObject(FIELDS).partial() satisfies z.ZodType<SettingsPatch>

export const DEFAULT_SETTINGS: Readonly<StoredSettings> = {
  serveAtStart: true,
  openAtLogin: false,
  port: 5292,
  allowedOrigins: [],
  queueCapacity: 32,
  overflow: 'truncate',
  idleUnloadSeconds: 0,
  keepWarm: false,
  engine: 'auto',
  requireDevice: false,
  checkpoint: 'laya-demo',
  loadOnDemand: true,
  secondResident: false,
  memoryLimitMb: 0,
  hubEndpoint: null,
  proxy: null,
  offline: false,
  checkpointFolders: [],
  appearance: 'system',
  logLevel: 'info',
  updateCheck: false,
  firstRunDone: false,
  token: null,
}

export interface ParsedSettings {
  settings: StoredSettings
  /** Sentences for people about what in the file could not be used. */
  notices: string[]
}

/**
 * Reads the text of a settings file. Never throws: what cannot be used falls back to its default and is named, so
 * that one bad line does not cost the user the other settings.
 *
 * @param text `null` when there is no file yet.
 */
export function parseSettings(text: string | null): ParsedSettings {
  if (text === null) return { settings: { ...DEFAULT_SETTINGS }, notices: [] }
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return unusable('The settings file is not valid JSON')
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return unusable('The settings file does not hold an object')
  const notices: string[] = []
  const stored = migrate(raw as Record<string, unknown>, notices)
  const settings: Record<string, unknown> = { ...DEFAULT_SETTINGS }
  for (const [name, schema] of Object.entries(FIELDS)) {
    if (!Object.hasOwn(stored, name)) continue
    const parsed = schema.safeParse(stored[name])
    if (parsed.success) settings[name] = parsed.data
    else notices.push(`The setting '${name}' ${reason(parsed.error)}; its default is used.`)
  }
  return { settings: settings as unknown as StoredSettings, notices }

  function unusable(why: string): ParsedSettings {
    return { settings: { ...DEFAULT_SETTINGS }, notices: [`${why}; the defaults are used.`] }
  }
}

function migrate(raw: Record<string, unknown>, notices: string[]): Record<string, unknown> {
  let stored = raw
  let version = typeof raw.version === 'number' ? raw.version : 0
  if (version > SETTINGS_VERSION)
    notices.push('The settings file was written by a newer version; what this version knows is used.')
  for (; version < SETTINGS_VERSION; version++) stored = MIGRATIONS[version]?.(stored) ?? stored
  return stored
}

/** The text to write: stable order, one setting a line. */
export function formatSettings(settings: StoredSettings): string {
  const ordered = Object.fromEntries(
    Object.keys(FIELDS).map((name) => [name, settings[name as keyof typeof FIELDS]]),
  )
  return `${JSON.stringify({ version: SETTINGS_VERSION, ...ordered }, null, 2)}\n`
}

/** Settings that only a new process can take on: its sockets are opened once. */
const RESTART: ReadonlySet<string> = new Set<keyof StoredSettings>(['port'])

export interface AppliedPatch {
  settings: StoredSettings
  /** Names whose value is another one now. */
  changed: (keyof StoredSettings)[]
  /** Whether the service has to be started again for all of it to take effect. */
  restart: boolean
}

/**
 * @param patch as it came over a border, unchecked.
 * @throws LayaError `invalid_setting` naming every bad field; nothing of the patch is applied then.
 */
export function applyPatch(settings: StoredSettings, patch: unknown): AppliedPatch {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch))
    throw new LayaError('invalid_setting', 'Settings are changed with an object of names and values.')
  const parsed = patchSchema.safeParse(patch)
  if (!parsed.success) throw invalid(parsed.error)
  const entries = Object.entries(parsed.data).filter(([, value]) => value !== undefined)
  const changed = entries
    .filter(
      ([name, value]) => JSON.stringify(settings[name as keyof StoredSettings]) !== JSON.stringify(value),
    )
    .map(([name]) => name as keyof StoredSettings)
  return {
    settings: { ...settings, ...Object.fromEntries(entries) },
    changed,
    restart: changed.some((name) => RESTART.has(name)),
  }
}

/** What may leave the service. */
export function publicSettings(settings: StoredSettings): Settings {
  const { token, ...rest } = settings
  return { ...rest, tokenSet: token !== null }
}

function invalid(error: z.ZodError): LayaError {
  const errors: FieldError[] = error.issues.map((issue) => {
    const parameter = issue.code === 'unrecognized_keys' ? issue.keys.join(', ') : String(issue.path[0] ?? '')
    const detail = issue.code === 'unrecognized_keys' ? 'is not a setting' : issue.message
    return { parameter, detail: `'${parameter}' ${detail}` }
  })
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return new LayaError('invalid_setting', `The setting ${errors[0]!.detail}${more}.`, {
    errors,
    hint: 'Nothing was changed. Correct the value and apply again.',
  })
}

function reason(error: z.ZodError): string {
  return error.issues[0]?.message ?? 'cannot be used'
}

function isOrigin(text: string): boolean {
  try {
    const url = new URL(text)
    // Browsers send opaque origins as "null", so a scheme without a comparable origin can never match: extension
    // schemes are compared as they are written.
    return url.origin === text || /^[a-z][a-z0-9+-]*-extension:\/\/[a-z0-9-]+$/i.test(text)
  } catch {
    return false
  }
}

function isHttpUrl(text: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(text).protocol)
  } catch {
    return false
  }
}
