import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { excerpt, LayaError } from './errors.ts'

/** What the network looks like, from `rl_agent_config.json` and `encoder/config.json`. */
export interface Architecture {
  vocabSize: number
  hiddenSize: number
  intermediateSize: number
  heads: number
  layers: { kind: 'global' | 'sliding'; theta: number }[]
  /** Sliding layers see `|i - j| <= halfWindow`. */
  halfWindow: number
  normEps: number
  headLayers: number
  /** max(1, floor(hiddenSize / 64)). */
  headHeads: number
  /** 1 + number of act costs. */
  actClasses: number
  maxLen: number
  headMaxLen: number
  maxPositions: number
  /** Unclamped, as in the file: choice, score, noul. */
  temperature: unknown[]
  temperatureByOptions: Record<string, unknown>
}

/**
 * Reads both configuration files of a checkpoint folder.
 * @throws LayaError `checkpoint_unusable` naming file and field for anything this program cannot serve exactly.
 */
export function readArchitecture(folder: string): Architecture {
  const head = readFields(folder, 'rl_agent_config.json')
  const encoder = readFields(folder, 'encoder/config.json')
  refuseVariants(head, encoder)

  const hiddenSize = encoder.count('hidden_size')
  const heads = encoder.count('num_attention_heads')
  const headHeads = Math.max(1, Math.floor(hiddenSize / 64))
  if (hiddenSize % heads !== 0 || (hiddenSize / heads) % 2 !== 0) {
    throw encoder.refuse('num_attention_heads', `${heads} heads do not divide ${hiddenSize} into even widths`)
  }
  if (hiddenSize % headHeads !== 0) {
    throw encoder.refuse(
      'hidden_size',
      `${hiddenSize} cannot be divided among the ${headHeads} heads of the decision head`,
    )
  }
  const maxPositions = encoder.count('max_position_embeddings', 8192)
  const maxLen = head.count('max_len', 512)
  if (maxLen > maxPositions) {
    throw head.refuse('max_len', `${maxLen} is above max_position_embeddings (${maxPositions})`)
  }
  return {
    vocabSize: encoder.count('vocab_size'),
    hiddenSize,
    intermediateSize: encoder.count('intermediate_size'),
    heads,
    layers: readLayers(encoder),
    halfWindow: Math.floor(encoder.count('local_attention') / 2),
    normEps: encoder.positive('norm_eps', 1e-5),
    headLayers: head.count('head_layers'),
    headHeads,
    actClasses: 1 + Object.keys(head.record('act_costs') ?? {}).length,
    maxLen,
    headMaxLen: head.count('head_max_len', 192),
    maxPositions,
    temperature: readTemperature(head),
    temperatureByOptions: head.record('temperature_by_options') ?? {},
  }
}

/** Variants of the network that would give other numbers without any visible sign. */
function refuseVariants(head: Fields, encoder: Fields): void {
  if (typeof head.value('encoder') !== 'string')
    throw head.refuse('encoder', 'the name of the encoder is missing')
  if (head.value('option_layout') === 'parallel') {
    throw head.refuse('option_layout', "'parallel' needs other attention masks than this program has")
  }
  if (encoder.value('model_type') !== 'modernbert') {
    throw encoder.refuse('model_type', `${shown(encoder.value('model_type'))} is not 'modernbert'`)
  }
  for (const field of ['norm_bias', 'attention_bias', 'mlp_bias']) {
    if (encoder.value(field) ?? false)
      throw encoder.refuse(field, 'only encoders without this bias can be run')
  }
  const activation = encoder.value('hidden_activation') ?? 'gelu'
  if (activation !== 'gelu') throw encoder.refuse('hidden_activation', `${shown(activation)} is not 'gelu'`)
}

function readLayers(encoder: Fields): Architecture['layers'] {
  const count = encoder.count('num_hidden_layers')
  const kinds = readKinds(encoder, count)
  const theta = { global: readTheta(encoder, 'global'), sliding: readTheta(encoder, 'sliding') }
  return kinds.map((kind) => ({ kind, theta: theta[kind] }))
}

function readKinds(encoder: Fields, count: number): ('global' | 'sliding')[] {
  const listed = encoder.value('layer_types')
  if (listed === undefined || listed === null) {
    const every = encoder.count('global_attn_every_n_layers')
    return Array.from({ length: count }, (_, layer) => (layer % every === 0 ? 'global' : 'sliding'))
  }
  if (!Array.isArray(listed) || listed.length !== count) {
    throw encoder.refuse('layer_types', `a list of ${count} entries is expected`)
  }
  return listed.map((kind: unknown) => {
    if (kind === 'full_attention') return 'global'
    if (kind === 'sliding_attention') return 'sliding'
    throw encoder.refuse('layer_types', `${shown(kind)} is neither 'full_attention' nor 'sliding_attention'`)
  })
}

/**
 * RoPE base of one kind of layer: the newer `rope_parameters` first, else the older field. A default instead of a
 * missing value would be silently wrong: the published checkpoints disagree on the sliding base.
 */
function readTheta(encoder: Fields, kind: 'global' | 'sliding'): number {
  const newer = kind === 'global' ? 'full_attention' : 'sliding_attention'
  const older = kind === 'global' ? 'global_rope_theta' : 'local_rope_theta'
  for (const field of ['rope_parameters', 'rope_scaling']) {
    const parameters = encoder.record(field)
    for (const scope of [parameters, fieldsOf(parameters?.[newer])]) {
      const type = scope?.rope_type ?? scope?.type ?? 'default'
      if (type !== 'default') throw encoder.refuse(`${field}.rope_type`, `${shown(type)} is not 'default'`)
    }
  }
  const parameters = fieldsOf(encoder.record('rope_parameters')?.[newer])
  const [field, theta] =
    parameters?.rope_theta !== undefined
      ? [`rope_parameters.${newer}.rope_theta`, parameters.rope_theta]
      : // A sliding base of null means the global one in this configuration format.
        [older, encoder.value(older) === null ? encoder.value('global_rope_theta') : encoder.value(older)]
  if (typeof theta !== 'number' || !Number.isFinite(theta) || theta <= 0) {
    throw encoder.refuse(
      field as string,
      `the RoPE base of ${kind} layers is missing or not a positive number`,
    )
  }
  return theta
}

function readTemperature(head: Fields): unknown[] {
  const temperature = head.value('temperature') ?? [1, 1, 1]
  if (!Array.isArray(temperature) || temperature.length !== 3) {
    throw head.refuse('temperature', 'a list of three numbers (choice, score, noul) is expected')
  }
  return temperature
}

/** Members of one JSON object, read with the file's name in every refusal. */
interface Fields {
  value(field: string): unknown
  /** A whole number of at least 1. Without `fallback` the field is required. */
  count(field: string, fallback?: number): number
  positive(field: string, fallback: number): number
  /** An object; null when absent. */
  record(field: string): Record<string, unknown> | null
  refuse(field: string, why: string): LayaError
}

function readFields(folder: string, file: string): Fields {
  const text = readText(folder, file).replace(pythonConstants, (_, string?: string) => string ?? 'null')
  const members = parseObject(file, text)
  const refuse = (field: string, why: string): LayaError => unusable(file, `${field}: ${why}`)
  const value = (field: string): unknown => (Object.hasOwn(members, field) ? members[field] : undefined)
  return {
    value,
    refuse,
    count(field, fallback) {
      const found = value(field) ?? fallback
      if (found === undefined) throw refuse(field, 'missing')
      if (!Number.isSafeInteger(found) || (found as number) < 1) {
        throw refuse(field, `${shown(found)} is not a whole number of at least 1`)
      }
      return found as number
    },
    positive(field, fallback) {
      const found = value(field) ?? fallback
      if (typeof found === 'number' && found > 0 && Number.isFinite(found)) return found
      throw refuse(field, `${shown(found)} is not a positive number`)
    },
    record(field) {
      const found = value(field) ?? null
      if (found !== null && fieldsOf(found) === null) throw refuse(field, 'an object is expected')
      return fieldsOf(found)
    },
  }
}

/**
 * A JSON object of the checkpoint folder.
 * @throws LayaError `checkpoint_unusable` when the file is absent or something else.
 */
export function readJsonFile(folder: string, file: string): Record<string, unknown> {
  return parseObject(file, readText(folder, file))
}

function readText(folder: string, file: string): string {
  try {
    return readFileSync(join(folder, file), 'utf8')
  } catch (error) {
    throw unusable(file, 'the file is missing or cannot be read', error)
  }
}

function parseObject(file: string, text: string): Record<string, unknown> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw unusable(file, `not valid JSON (${excerpt((error as Error).message)})`, error)
  }
  const members = fieldsOf(parsed)
  if (members === null) throw unusable(file, 'not a JSON object')
  return members
}

// Python writes NaN and Infinity as bare words; as a temperature they mean the same as null: none.
const pythonConstants = /("(?:[^"\\]|\\.)*")|-?\b(?:NaN|Infinity)\b/g

function fieldsOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function shown(value: unknown): string {
  return value === undefined
    ? 'nothing'
    : typeof value === 'string'
      ? `'${excerpt(value)}'`
      : excerpt(JSON.stringify(value))
}

function unusable(file: string, fault: string, cause?: unknown): LayaError {
  return new LayaError('checkpoint_unusable', `${file}: ${fault}`, {
    hint: 'Choose a checkpoint in the published Laya layout.',
    ...(cause === undefined ? {} : { cause }),
  })
}
