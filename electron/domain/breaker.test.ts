import { expect, test } from 'vitest'
import { type Breaker, type BreakerRule, ENGINE_RULE, PROCESS_RULE, strike, UNBROKEN } from './breaker.ts'

function delays(rule: BreakerRule, times: number[]): (number | null)[] {
  let breaker: Breaker = UNBROKEN
  return times.map((at) => {
    const struck = strike(breaker, rule, at)
    breaker = struck.breaker
    return struck.delayMs
  })
}

test('a process comes back after 1, 2 and 4 s, then not at all', () => {
  expect(delays(PROCESS_RULE, [0, 5_000, 500_000, 500_001, 500_002])).toEqual([1000, 2000, 4000, null, null])
})

test('an engine is given up at the third failure within a minute', () => {
  expect(delays(ENGINE_RULE, [0, 10_000, 59_000])).toEqual([0, 0, null])
})

test('failures spread over more than a minute are forgotten', () => {
  expect(delays(ENGINE_RULE, [0, 40_000, 70_000, 101_000])).toEqual([0, 0, 0, 0])
  expect(delays(ENGINE_RULE, [0, 40_000, 60_000])).toEqual([0, 0, 0])
})

test('the value given in is not changed', () => {
  const first = strike(UNBROKEN, PROCESS_RULE, 1).breaker
  strike(first, PROCESS_RULE, 2)
  expect(first.failures).toEqual([1])
  expect(UNBROKEN.failures).toEqual([])
})
