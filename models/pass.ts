/** What the network needs of one row: see `TokenRow`. */
export interface PassRow {
  ids: Int32Array
  markers: Int32Array
  /** choice 0, score 1, noul 2. */
  type: 0 | 1 | 2
}

/** One run of a graph: rows one behind the other. `length` and `selected` are S and P of the graph that runs it. */
export interface Pass {
  length: number
  selected: number
  rows: PassRow[]
  /** For each row of the pass its index in the caller's list. */
  index: number[]
}

/** S and P a graph was written for; `dynamic` graphs take what the rows need, up to `maxTokens` in one pass. */
export type PassShape =
  | { kind: 'fixed'; lengths: { length: number; selected: number }[] }
  | { kind: 'dynamic'; maxTokens: number }

/** Raw outputs of one row: one logit per marker (slot order) and the act logits. */
export interface RowOutput {
  logits: Float32Array
  actLogits: Float32Array
}
