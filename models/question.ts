import type { Json } from './json.ts'

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
