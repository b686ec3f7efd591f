import { type Json, JsonNumber, type JsonObject, pythonText } from './json.ts'
import { pythonEqualityKey, pythonStr, pythonStrip } from './python.ts'

export type QuestionType = 'choice' | 'score' | 'noul'

/** One possible answer, in body order. */
export interface Option {
  /** Key in `probabilities` (choice: label or its JSON text; score: "0".."n-1"; noul: "false" | "true"). */
  key: string
  /** Value published as `choice`: keeps the JSON type of a list label. */
  value: Json
  /** The text the model reads, before truncation and mask replacement. */
  text: string
}

/** A validated question in canonical form. */
export interface Question {
  id: string
  type: QuestionType
  /** The text after `<type> question: `, "" when absent. */
  instructions: string
  options: Option[]
  /** Score only: what `legend` shows, level by level, as sent. */
  levels?: Json[]
  /** `order[slot] = option`; absent = identity. */
  order?: number[]
}

/** Own labels of a noul, already trimmed. */
export interface NoulLabels {
  false: string
  true: string
}

/** A label of a choice written as a list. */
export type Label = boolean | string | JsonNumber

/** Members of a question that passed validation. */
export type QuestionParts = { id: string; instructions?: Json; order?: number[] } & (
  | { type: 'choice'; criteria: JsonObject | Label[] }
  | { type: 'score'; criteria: Json[] }
  | { type: 'noul'; criteria?: JsonObject | null; labels?: NoulLabels }
)

/** A question in the form the sequence builder and the decoder read. The parts must have been validated. */
export function createQuestion(parts: QuestionParts): Question {
  return {
    id: parts.id,
    type: parts.type,
    instructions: textOf(parts.instructions ?? ''),
    options: optionsOf(parts),
    ...(parts.type === 'score' ? { levels: parts.criteria } : {}),
    ...(parts.order === undefined ? {} : { order: parts.order }),
  }
}

function optionsOf(parts: QuestionParts): Option[] {
  if (parts.type === 'choice') return choiceOptions(parts.criteria)
  if (parts.type === 'score') return scoreOptions(parts.criteria)
  return noulOptions(parts.criteria ?? null, parts.labels)
}

/** What the model reads of a value: a string as it is, anything else as JSON text in Python's dialect. */
export function textOf(json: Json): string {
  return typeof json === 'string' ? json : pythonText(json)
}

/** Options in body order; a description of null or "" counts as none, 0 and false are descriptions. */
export function choiceOptions(criteria: JsonObject | Label[]): Option[] {
  if (Array.isArray(criteria)) {
    return criteria.map((label) => ({ key: textOf(label), value: label, text: pythonStr(label) }))
  }
  return Array.from(criteria, ([label, description]) => ({
    key: label,
    value: label,
    text: isDescribed(description) ? `${label}: ${textOf(description)}` : label,
  }))
}

/** Level 0 first. */
export function scoreOptions(levels: Json[]): Option[] {
  return levels.map((level, index) => ({
    key: String(index),
    value: new JsonNumber(String(index)),
    text: `level ${index}: ${textOf(level)}`,
  }))
}

/** Always two: false, then true. A side without description gets the reference's default. */
export function noulOptions(criteria: JsonObject | null, labels?: NoulLabels): Option[] {
  const described: { false?: Json; true?: Json } = {}
  for (const [name, description] of criteria ?? []) {
    const side = noulSide(name)
    if (side !== null) described[side] = description
  }
  const option = (side: 'false' | 'true', fallback: string): Option => {
    const description = described[side]
    const text = isDescribed(description) ? textOf(description) : fallback
    return { key: side, value: side === 'true', text: `${labels?.[side] ?? side}: ${text}` }
  }
  return [option('false', 'no, the statement does not hold'), option('true', 'yes, the statement holds')]
}

/** The side a member of a noul's criteria describes: names are compared after lower-casing. */
export function noulSide(name: string): 'false' | 'true' | null {
  const side = name.toLowerCase()
  return side === 'false' || side === 'true' ? side : null
}

/** Whether a description or level says anything: not absent, null or "". */
export function isDescribed(description: Json | undefined): description is Exclude<Json, null> {
  return description !== undefined && description !== null && description !== ''
}

/** Whether instructions ask nothing: absent, null, white space alone, an empty list or object. */
export function isBlank(instructions: Json | undefined): boolean {
  if (instructions === undefined || instructions === null) return true
  if (typeof instructions === 'string') return pythonStrip(instructions) === ''
  if (Array.isArray(instructions)) return instructions.length === 0
  return instructions instanceof Map && instructions.size === 0
}

/**
 * The first label of a list that an earlier one equals, or null. Equal as Python compares (1, 1.0 and true), or
 * different but with the same key in `probabilities` (1 and "1"): the answer could not tell those apart.
 */
export function repeatedLabel(labels: Label[]): Label | null {
  const seen = new Set<string>()
  for (const label of labels) {
    const names = [`value ${pythonEqualityKey(label)}`, `key ${textOf(label)}`]
    if (names.some((name) => seen.has(name))) return label
    for (const name of names) seen.add(name)
  }
  return null
}

/** Equal for two questions exactly when the model reads the same row for both, given one state. */
export function rowKey({ type, instructions, options, order }: Question): string {
  return JSON.stringify([type, instructions, options.map(({ text }) => text), order ?? null])
}
