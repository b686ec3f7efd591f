import { CATALOG } from '../../models/catalog.ts'
import { excerpt, LayaError } from '../../models/errors.ts'
import { RESIDENT_ALIASES } from '../../models/source.ts'

export type Dialect = 'laya' | 'jev'

/** What the model name of a request asks for. */
export interface Naming {
  dialect: Dialect
  /** `null` = the resident one. */
  checkpoint: string | null
  /** `routing.reason` of the laya dialect. The served client of system1-agents reads its first words. */
  reason: string
}

/** A name by which a request may ask for an installed checkpoint. */
export interface Named {
  name: string
  aliases: readonly string[]
}

const JEV = /^(typesafe\/)?jev-[A-Za-z0-9.-]+$/
const OTHER_NAMES = ['laya', 'default', 'auto', 'jev-latest', 'jev-preview']

/** The model name alone picks the dialect: never a header, a path or a user agent (http-api.md 3). */
export function dialectOf(model: string | null): Dialect {
  return model !== null && JEV.test(model) ? 'jev' : 'laya'
}

/**
 * @throws LayaError `unknown_model`, which tells a name that could be installed from one that nobody has.
 */
export function resolveModel(model: string | null, installed: readonly Named[]): Naming {
  const dialect = dialectOf(model)
  if (model === null) return { dialect, checkpoint: null, reason: 'resident checkpoint (no model named)' }
  if (dialect === 'jev' || RESIDENT_ALIASES.includes(model)) {
    return { dialect, checkpoint: null, reason: `resident checkpoint (alias '${model}')` }
  }
  const found = findNamed(model, installed)
  if (found !== undefined) {
    return { dialect, checkpoint: found.name, reason: `explicit model='${found.name}'` }
  }
  throw unknownModel(model, installed)
}

function findNamed<T extends Named>(model: string, list: readonly T[]): T | undefined {
  return list.find(({ name, aliases }) => name === model || aliases.includes(model))
}

function unknownModel(model: string, installed: readonly Named[]): LayaError {
  const names = installed.map(({ name }) => name)
  const known = findNamed(model, CATALOG)
  const list = `installed: ${names.join(', ') || 'none'}`
  const sentence =
    known === undefined
      ? `unknown model '${excerpt(model)}'; ${list}; aliases: ${OTHER_NAMES.join(', ')}`
      : `'${known.name}' is not installed; ${list}; other names: ${OTHER_NAMES.join(', ')}`
  return new LayaError('unknown_model', sentence, { extras: { models: [...names, ...OTHER_NAMES] } })
}
