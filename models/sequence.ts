import type { QuestionType } from './question.ts'

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
