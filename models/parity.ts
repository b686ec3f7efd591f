import type { QuestionType } from './question.ts'

/** One decided question of either side: probabilities before rounding; noul has [false, true]. */
export interface ParityAnswer {
  type: QuestionType
  probabilities: ArrayLike<number>
}

export interface ParityRule {
  /** Largest allowed difference of any probability. */
  tolerance: number
  /** A reference margin below this many tolerances is a near tie, where a changed decision is listed apart. */
  nearTieFactor: number
}

/** How far one answer is from its reference. */
export interface ParityDifference {
  type: QuestionType
  options: number
  /** Largest |Δp|; Infinity when a number is missing or not finite. */
  probability: number
  /** |Δscore| of a score question, else 0. Allowed: (levels − 1) × tolerance. */
  score: number
  /** Lead of the reference's decision: top two, noul |2p − 1|; 1 when there is one option. */
  margin: number
  nearTie: boolean
  flipped: boolean
}

/** Compares one answer with its reference (benchmark.md 8). Decision: first maximum; noul: true from 0.5 on. */
export function compareAnswers(
  reference: ParityAnswer,
  candidate: ParityAnswer,
  rule: ParityRule,
): ParityDifference {
  const [expected, found] = [Array.from(reference.probabilities), Array.from(candidate.probabilities)]
  const { type } = reference
  const comparable =
    found.length === expected.length && found.every(Number.isFinite) && expected.every(Number.isFinite)
  const margin = marginOf(type, expected)
  return {
    type,
    options: expected.length,
    probability: comparable ? largestDifference(expected, found) : Number.POSITIVE_INFINITY,
    score: comparable && type === 'score' ? Math.abs(meanLevel(expected) - meanLevel(found)) : 0,
    margin,
    nearTie: margin < rule.nearTieFactor * rule.tolerance,
    flipped: !comparable || decisionOf(type, expected) !== decisionOf(type, found),
  }
}

export interface ParitySummary {
  cases: number
  /** No probability beyond tolerance, no score beyond its own, no flip outside near ties. */
  passed: boolean
  max: number
  p99: number
  mean: number
  /** Changed decisions outside near ties. */
  flips: number
  nearTieFlips: number
  nearTies: number
  /** Answers with a probability or score beyond tolerance. */
  beyond: number
  /** Answers without usable numbers. */
  unusable: number
}

/** Figures over a set. An empty set has not passed: nothing was shown. */
export function summarizeParity(
  differences: readonly ParityDifference[],
  { tolerance }: ParityRule,
): ParitySummary {
  const ascending = differences.map(({ probability }) => probability).sort((a, b) => a - b)
  const count = (test: (difference: ParityDifference) => boolean) => differences.filter(test).length
  const flips = count(({ flipped, nearTie }) => flipped && !nearTie)
  const beyond = count(
    ({ probability, score, options }) =>
      probability > tolerance || score > Math.max(1, options - 1) * tolerance,
  )
  return {
    cases: differences.length,
    passed: differences.length > 0 && flips === 0 && beyond === 0,
    max: ascending.at(-1) ?? 0,
    p99: ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * 0.99))] ?? 0,
    mean: ascending.reduce((sum, value) => sum + value, 0) / Math.max(1, ascending.length),
    flips,
    nearTieFlips: count(({ flipped, nearTie }) => flipped && nearTie),
    nearTies: count(({ nearTie }) => nearTie),
    beyond,
    unusable: count(({ probability }) => probability === Number.POSITIVE_INFINITY),
  }
}

function decisionOf(type: QuestionType, probabilities: readonly number[]): number {
  if (type === 'noul') return probabilities[1]! >= 0.5 ? 1 : 0
  return probabilities.indexOf(Math.max(...probabilities))
}

function marginOf(type: QuestionType, probabilities: readonly number[]): number {
  if (type === 'noul') return Math.abs(2 * probabilities[1]! - 1)
  if (probabilities.length < 2) return 1
  const [first, second] = probabilities.toSorted((a, b) => b - a) as [number, number]
  return first - second
}

const meanLevel = (probabilities: readonly number[]): number =>
  probabilities.reduce((sum, p, level) => sum + p * level, 0)

const largestDifference = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((largest, value, at) => Math.max(largest, Math.abs(value - b[at]!)), 0)
