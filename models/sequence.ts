import { LayaError } from './errors.ts'
import { pythonRepr } from './python.ts'
import type { Question, QuestionType } from './question.ts'
import type { Tokenizer } from './tokenizer.ts'

/** One question over one state as the network reads it, with what was cut. All counts in tokens. */
export interface TokenRow {
  type: QuestionType
  ids: Int32Array
  /** Positions of the option markers, in slot order. */
  markers: Int32Array
  /** `order[slot] = option`, when the caller permuted the options. */
  order?: number[]
  stateTokens: number
  stateDropped: number
  headTokens: number
  headKept: number
  options: number
  /** Different id sequences among the options after cutting, marker included. */
  optionsDistinct: number
  /** `per` of the shrinking step, null when it did not apply. */
  tokensPerOption: number | null
}

/** Token windows of one call: the checkpoint's, or the caller's overrides. */
export interface Window {
  maxLen: number
  headMaxLen: number
}

/** What the decision is about. `list`: it was a JSON list, so cutting keeps its end instead of its start. */
export interface State {
  text: string
  list: boolean
}

const longestOption = 48
/** With fewer tokens left for the head, options are shrunk. */
const comfortableHead = 16
const shortestHead = 8
const shortestOption = 4

/**
 * One row for each question: `[cls] head [sep] ([mask] option)… [sep] state [sep]`, cut to the window exactly as the
 * reference cuts. The state is tokenized once, whatever the number of questions.
 * @throws LayaError `invalid_question` when the markers of a question do not fit; every such question is listed.
 */
export function buildRows(
  tokenizer: Tokenizer,
  state: State,
  questions: Question[],
  window: Window,
): TokenRow[] {
  const stateIds = tokenizer.encode(withoutMask(state.text, tokenizer))
  const rows = questions.map((question) => buildRow(tokenizer, stateIds, state.list, question, window))
  refuseLostMarkers(questions, rows, window)
  return rows
}

function buildRow(
  tokenizer: Tokenizer,
  stateIds: Int32Array,
  list: boolean,
  question: Question,
  window: Window,
): TokenRow {
  const { cls, sep } = tokenizer.special
  const { options, tokensPerOption } = encodeOptions(tokenizer, question, window.headMaxLen)
  const budget = window.headMaxLen - count(options)
  const text = withoutMask(`${question.type} question: ${question.instructions}`, tokenizer)
  const headIds = tokenizer.encode(text)
  const head = headIds.subarray(0, Math.max(shortestHead, budget))

  const ids: number[] = [cls, ...head, sep]
  const markers: number[] = []
  for (const option of options) {
    markers.push(ids.length)
    ids.push(...option)
  }
  ids.push(sep)
  const room = Math.max(0, window.maxLen - ids.length - 1)
  const kept = list ? stateIds.subarray(Math.max(0, stateIds.length - room)) : stateIds.subarray(0, room)
  const row = new Int32Array(ids.length + kept.length + 1)
  row.set(ids)
  row.set(kept, ids.length)
  row[row.length - 1] = sep

  return {
    type: question.type,
    ids: row.slice(0, window.maxLen),
    markers: Int32Array.from(markers.filter((marker) => marker < window.maxLen)),
    ...(question.order === undefined ? {} : { order: question.order }),
    stateTokens: stateIds.length,
    stateDropped: stateIds.length - kept.length,
    headTokens: headIds.length,
    headKept: head.length,
    options: options.length,
    optionsDistinct: new Set(options.map((option) => option.join())).size,
    tokensPerOption,
  }
}

/** The options in slot order, each with its marker in front; shrunk when they leave too little to the head. */
function encodeOptions(
  tokenizer: Tokenizer,
  question: Question,
  headMaxLen: number,
): { options: number[][]; tokensPerOption: number | null } {
  const slots = question.order ?? question.options.keys()
  const options = Array.from(slots, (option) => {
    const text = withoutMask(question.options[option]!.text, tokenizer)
    return [tokenizer.special.mask, ...tokenizer.encode(` ${text}`).subarray(0, longestOption)]
  })
  if (headMaxLen - count(options) >= comfortableHead) return { options, tokensPerOption: null }
  const share = Math.floor((headMaxLen - comfortableHead) / Math.max(1, options.length))
  const per = Math.max(shortestOption, share)
  return { options: options.map((option) => option.slice(0, per)), tokensPerOption: per }
}

function count(options: number[][]): number {
  return options.reduce((total, option) => total + option.length, 0)
}

/** Only the program may write the checkpoint's mask token: in the caller's text it becomes a space. */
function withoutMask(text: string, { special }: Tokenizer): string {
  return text.replaceAll(special.maskString, ' ')
}

function refuseLostMarkers(questions: Question[], rows: TokenRow[], window: Window): void {
  const errors = questions.flatMap(({ id }, index) => {
    const { markers, options } = rows[index]!
    if (markers.length === options) return []
    const fault = `only ${markers.length} of its ${options} option markers fit in max_len=${window.maxLen} with head_max_len=${window.headMaxLen} spent on the question; lower head_max_len, raise max_len, or use fewer options`
    return [{ question: id, field: 'criteria', detail: fault }]
  })
  const first = errors[0]
  if (first === undefined) return
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  throw new LayaError('invalid_question', `question ${shownId(first.question)}: ${first.detail}${more}`, {
    errors,
  })
}

/** An id as sentences show it: Python's repr of at most 64 code points. */
function shownId(id: string): string {
  const characters = Array.from(id.slice(0, 130))
  return pythonRepr(characters.length > 64 ? `${characters.slice(0, 64).join('')}…` : id)
}
