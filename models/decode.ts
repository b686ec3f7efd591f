import type { Architecture } from './config.ts'
import type { RowOutput } from './pass.ts'
import { type Question, type QuestionType, textOf } from './question.ts'
import type { TokenRow } from './sequence.ts'
import { round4, softmax, sum8 } from './softmax.ts'

/** Temperatures as the configuration has them, unclamped. */
export type Temperatures = Pick<Architecture, 'temperature' | 'temperatureByOptions'>

/** What divides the logits of one question. */
export interface Temperature {
  /** `<type>:<size>`, the name calibration goes by. */
  bucket: string
  /** Within [0.5, 5]. */
  value: number
  /** The configured value was clamped: the probabilities of this bucket were never calibrated. */
  uncalibrated: boolean
}

/** One decided question, free of any dialect. Numbers for publication are rounded once, to four decimals. */
export interface Answer {
  type: QuestionType
  /** Unrounded float32 probabilities in body order; noul: false, true. */
  distribution: Float32Array
  /** The same, rounded. */
  probabilities: number[]
  /** Index of the first maximum of the unrounded distribution. */
  best: number
  /** Score: mean level, 0 … n − 1; null otherwise. */
  score: number | null
  /** Score: what each level says, as text; null otherwise. */
  legend: string[] | null
  /** Noul: P(true); null otherwise. */
  noul: number | null
  /** Choice and score: 1 − entropy / ln n; noul: max(p, 1 − p). */
  confidence: number
  /** Highest probability. */
  answerConfidence: number
  /** Formula of the hosted service; null on noul, which has none there. */
  jevConfidence: number | null
  /** Softmax of the act head's first class. */
  actProbability: number
  temperature: Temperature
}

/** Raw outputs of one row to the answer of its question (laya-model.md 9). */
export function decodeAnswer(question: Question, output: RowOutput, temperatures: Temperatures): Answer {
  const { type, options, order, levels } = question
  const temperature = temperatureOf(temperatures, type, options.length)
  const distribution = inBodyOrder(softmax(output.logits, temperature.value), order)
  const largest = distribution.reduce((a, b) => Math.max(a, b))
  const best = distribution.indexOf(largest)
  const pTrue = distribution[1] ?? 0
  return {
    type,
    distribution,
    probabilities: Array.from(distribution, round4),
    best,
    score: type === 'score' ? round4(meanLevel(distribution)) : null,
    legend: type === 'score' ? (levels ?? []).map(textOf) : null,
    noul: type === 'noul' ? round4(pTrue) : null,
    confidence: round4(type === 'noul' ? Math.max(pTrue, 1 - pTrue) : entropyConfidence(distribution)),
    answerConfidence: round4(largest),
    jevConfidence: type === 'noul' ? null : round4(hostedConfidence(type, distribution, best)),
    actProbability: round4(softmax(output.actLogits)[0]!),
    temperature,
  }
}

const size = (options: number): string =>
  options <= 2 ? '2' : options <= 5 ? '3-5' : options <= 10 ? '6-10' : '11+'

/** Name of the calibration bucket: `choice:2`, `score:3-5`, `choice:11+` … */
export function bucketOf(type: QuestionType, options: number): string {
  return `${type}:${size(options)}`
}

/** The bucket's own temperature where there is one, else the type's; both clamped into [0.5, 5]. */
export function temperatureOf(temperatures: Temperatures, type: QuestionType, options: number): Temperature {
  const bucket = bucketOf(type, options)
  const configured = Object.hasOwn(temperatures.temperatureByOptions, bucket)
    ? temperatures.temperatureByOptions[bucket]
    : temperatures.temperature[['choice', 'score', 'noul'].indexOf(type)]
  const usable = typeof configured === 'number' && Number.isFinite(configured)
  const value = usable ? Math.min(5, Math.max(0.5, configured)) : 1
  return { bucket, value, uncalibrated: value !== configured }
}

/** The network answers slot by slot; `order[slot] = option`. */
function inBodyOrder(slots: Float32Array, order?: number[]): Float32Array {
  if (order === undefined) return slots
  const options = new Float32Array(slots.length)
  order.forEach((option, slot) => {
    options[option] = slots[slot]!
  })
  return options
}

/** In double precision: the reference multiplies before it rounds. */
function meanLevel(p: Float32Array): number {
  return p.reduce((sum, share, level) => sum + level * share, 0)
}

function entropyConfidence(p: Float32Array): number {
  if (p.length === 1) return 1
  const terms = p.map((share) => {
    const clipped = Math.max(share, Math.fround(1e-12))
    return clipped * Math.fround(Math.log(clipped))
  })
  return clip(1 + sum8(terms) / Math.log(p.length))
}

/** laya-model.md 9.5: distance from the uniform answer, as the hosted service measures it. */
function hostedConfidence(type: 'choice' | 'score', p: Float32Array, best: number): number {
  const n = p.length
  if (n === 1) return 1
  if (type === 'choice') return clip((n * p[best]! - 1) / (n - 1))
  const spread = p.reduce((sum, share, level) => sum + share * Math.abs(level - best), 0)
  return clip(1 - spread / (Math.floor((n * n) / 4) / n))
}

function clip(x: number): number {
  return Math.min(1, Math.max(0, x))
}

/** What the rows of one state cost and what had to be cut. Ids in the order asked. */
export interface Usage {
  /** Real tokens over all rows, duplicates included, padding never. */
  inputTokens: number
  /** Of the whole state. */
  stateTokens: number
  /** Of the question that dropped most. */
  stateTokensDropped: number
  truncatedQuestions: string[]
  instructionsTruncated: string[]
  /** Questions whose options became equal by cutting. */
  options: Map<string, { total: number; distinct: number; tokensPerOption: number | null }>
}

/** @param rows one for each question, in the same order. */
export function usageOf(questions: Pick<Question, 'id'>[], rows: TokenRow[]): Usage {
  const idsWhere = (test: (row: TokenRow) => boolean): string[] =>
    questions.flatMap(({ id }, index) => (test(rows[index]!) ? [id] : []))
  return {
    inputTokens: rows.reduce((total, { ids }) => total + ids.length, 0),
    stateTokens: rows[0]?.stateTokens ?? 0,
    stateTokensDropped: rows.reduce((most, { stateDropped }) => Math.max(most, stateDropped), 0),
    truncatedQuestions: idsWhere(({ stateDropped }) => stateDropped > 0),
    instructionsTruncated: idsWhere(({ headKept, headTokens }) => headKept < headTokens),
    options: new Map(
      questions.flatMap(({ id }, index) => {
        const { options: total, optionsDistinct: distinct, tokensPerOption } = rows[index]!
        return distinct < total ? [[id, { total, distinct, tokensPerOption }] as const] : []
      }),
    ),
  }
}

/** `min_confidence` of a call: one threshold, or thresholds by bucket with an optional `default`. */
export type MinConfidence = number | ReadonlyMap<string, number>

export interface Abstention {
  abstention: 'passed' | 'abstained' | 'unevaluated'
  threshold: number
}

/**
 * Whether an answer reaches the caller's threshold; a value equal to it passes.
 * @param confidence the published answer confidence; undefined when there is nothing to compare.
 */
export function gateAnswer(min: MinConfidence, bucket: string, confidence: number | undefined): Abstention {
  const threshold = typeof min === 'number' ? min : (min.get(bucket) ?? min.get('default') ?? 0)
  if (confidence === undefined) return { abstention: 'unevaluated', threshold }
  return { abstention: confidence >= threshold ? 'passed' : 'abstained', threshold }
}
