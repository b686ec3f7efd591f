/** Seeded pseudo-random numbers for tests, synthetic weights and shuffled runs: the same seed gives the same run. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Uniform integer in [0, below). */
  integer(below: number): number
  pick<T>(list: readonly T[]): T
  /** Standard normal (Box-Muller). */
  normal(): number
}

/** Mulberry32: 32 bits of state, enough for test data, never for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number): number => Math.floor(next() * below)
  return {
    next,
    integer,
    pick: (list) => list[integer(list.length)]!,
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
  }
}
