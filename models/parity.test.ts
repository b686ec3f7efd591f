import { describe, expect, it } from 'vitest'
import { compareAnswers, type ParityAnswer, type ParityRule, summarizeParity } from './parity.ts'

const rule: ParityRule = { tolerance: 0.01, nearTieFactor: 2 }
const choice = (...probabilities: number[]): ParityAnswer => ({ type: 'choice', probabilities })
const score = (...probabilities: number[]): ParityAnswer => ({ type: 'score', probabilities })
const noul = (yes: number): ParityAnswer => ({ type: 'noul', probabilities: [1 - yes, yes] })
const summary = (...pairs: [ParityAnswer, ParityAnswer][]) =>
  summarizeParity(
    pairs.map(([a, b]) => compareAnswers(a, b, rule)),
    rule,
  )

describe('parity', () => {
  it('takes the largest difference of one answer', () => {
    expect(compareAnswers(choice(0.7, 0.2, 0.1), choice(0.695, 0.208, 0.097), rule)).toMatchObject({
      probability: expect.closeTo(0.008, 10),
      flipped: false,
      nearTie: false,
      margin: expect.closeTo(0.5, 10),
    })
  })

  it('decides as the answers do: first maximum, noul from 0.5 on', () => {
    expect(compareAnswers(choice(0.5, 0.5), choice(0.499, 0.501), rule).flipped).toBe(true)
    expect(compareAnswers(choice(0.5, 0.5), choice(0.5, 0.5), rule).flipped).toBe(false)
    expect(compareAnswers(noul(0.5), noul(0.499), rule)).toMatchObject({ flipped: true, nearTie: true })
    expect(compareAnswers(noul(0.5), noul(0.51), rule).flipped).toBe(false)
  })

  it('lists changed decisions in near ties apart', () => {
    const near = summary([choice(0.505, 0.495), choice(0.498, 0.502)])
    expect(near).toMatchObject({ passed: true, flips: 0, nearTieFlips: 1, nearTies: 1 })
    const clear = summary([choice(0.515, 0.485), choice(0.485, 0.515)])
    expect(clear).toMatchObject({ passed: false, flips: 1, nearTieFlips: 0 })
  })

  it('fails a difference beyond tolerance without any flip', () => {
    expect(summary([noul(0.9), noul(0.88)])).toMatchObject({ passed: false, flips: 0, beyond: 1 })
  })

  it('allows a score (levels - 1) tolerances', () => {
    const five = compareAnswers(score(0.2, 0.2, 0.2, 0.2, 0.2), score(0.191, 0.2, 0.2, 0.2, 0.209), rule)
    expect(five.score).toBeCloseTo(0.036, 10)
    expect(summarizeParity([five], rule).passed).toBe(true)
    const many = Array.from({ length: 5 }, () => 0.2)
    const shifted = compareAnswers(score(...many), score(0.19, 0.19, 0.2, 0.21, 0.21), {
      ...rule,
      tolerance: 0.0101,
    })
    expect(summarizeParity([shifted], { ...rule, tolerance: 0.0101 })).toMatchObject({
      beyond: 1,
      passed: false,
    })
  })

  it('never passes numbers that are missing or not finite', () => {
    for (const broken of [choice(Number.NaN, 0.5), choice(0.5), choice(Number.POSITIVE_INFINITY, 0)]) {
      expect(summary([choice(0.9, 0.1), broken])).toMatchObject({
        passed: false,
        flips: 1,
        unusable: 1,
        max: Number.POSITIVE_INFINITY,
      })
    }
  })

  it('has one option and no options under control', () => {
    expect(compareAnswers(choice(1), choice(1), rule)).toMatchObject({
      margin: 1,
      flipped: false,
      nearTie: false,
    })
    expect(summarizeParity([], rule)).toMatchObject({ passed: false, cases: 0, max: 0, p99: 0, mean: 0 })
  })

  it('summarizes a set', () => {
    const pairs = Array.from({ length: 200 }, (_, i): [ParityAnswer, ParityAnswer] => [
      noul(0.9),
      noul(0.9 + i / 1e5),
    ])
    const { cases, max, p99, mean, passed } = summary(...pairs)
    expect({ cases, passed }).toEqual({ cases: 200, passed: true })
    expect(max).toBeCloseTo(0.00199, 10)
    expect(p99).toBeCloseTo(0.00198, 10)
    expect(mean).toBeCloseTo(0.000995, 10)
  })
})
