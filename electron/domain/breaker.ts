/** Failures of one thing that may be tried again, as a value. Times in ms. */
export interface Breaker {
  readonly failures: readonly number[]
}

export interface BreakerRule {
  /** Delay before the first, second … new attempt. One failure more than there are delays, and it stays off. */
  delaysMs: readonly number[]
  /** Older failures do not count. Absent = all count until `forgive`. */
  withinMs?: number
}

/** The service process: again after 1, 2, 4 s, then never until Start. */
export const PROCESS_RULE: BreakerRule = { delaysMs: [1000, 2000, 4000] }

/** One engine inside the service: replaced at once, given up at the third failure within a minute. */
export const ENGINE_RULE: BreakerRule = { delaysMs: [0, 0], withinMs: 60_000 }

export const UNBROKEN: Breaker = { failures: [] }

/** Counts a failure at `now`. `delayMs` is the wait before the next attempt, `null` when there must be none. */
export function strike(
  breaker: Breaker,
  rule: BreakerRule,
  now: number,
): { breaker: Breaker; delayMs: number | null } {
  const oldest = rule.withinMs === undefined ? Number.NEGATIVE_INFINITY : now - rule.withinMs
  const failures = [...breaker.failures.filter((at) => at > oldest), now]
  return { breaker: { failures }, delayMs: rule.delaysMs[failures.length - 1] ?? null }
}
