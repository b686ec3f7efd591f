export interface Progress {
  /** Bytes. */
  done: number
  total: number
  /** Bytes per second over the last seconds, 0 while nothing is known. */
  perSecond: number
  /** Null without an estimate. */
  etaMs: number | null
}

export interface Meter {
  add(bytes: number): void
  /** Counts bytes that were there before: they say nothing about the speed. */
  skip(bytes: number): void
  setTotal(total: number): void
  read(): Progress
}

const WINDOW_MS = 5000
const SAMPLE_MS = 200

/** Progress of a transfer; the rate is that of the last five seconds, so that a pause does not linger in it. */
export function createMeter(total: number, now: () => number = Date.now): Meter {
  let done = 0
  let moved = 0
  let samples = [{ at: now(), moved: 0 }]
  return {
    add(bytes) {
      done += bytes
      moved += Math.max(0, bytes)
      const at = now()
      if (at - samples.at(-1)!.at < SAMPLE_MS) return
      samples.push({ at, moved })
      while (samples.length > 2 && at - samples[1]!.at >= WINDOW_MS) samples = samples.slice(1)
    },
    skip(bytes) {
      done += bytes
    },
    setTotal(bytes) {
      total = bytes
    },
    read() {
      const first = samples[0]!
      const elapsedMs = now() - first.at
      const perSecond = elapsedMs > 0 ? ((moved - first.moved) / elapsedMs) * 1000 : 0
      const left = Math.max(0, total - done)
      return { done, total, perSecond, etaMs: perSecond > 0 ? (left / perSecond) * 1000 : null }
    },
  }
}
