import { setTimeout as delay } from 'node:timers/promises'
import { TransientHubError } from './hub-errors.ts'

export type Wait = (ms: number, signal?: AbortSignal) => Promise<unknown>

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
const LONGEST_ASKED_WAIT_MS = 60_000
/** Attempts without anything new before it is given up for now. */
const FRUITLESS_ATTEMPTS = 8

export interface Backoff {
  /**
   * Waits before the next attempt, longer each time nothing was gained.
   * @throws `error` when it will not go away by itself or was met too often; the signal's reason when aborted.
   */
  pause(error: unknown, gained: boolean): Promise<void>
}

export function createBackoff(
  signal?: AbortSignal,
  wait: Wait = (ms, end) => delay(ms, undefined, { signal: end }),
): Backoff {
  let fruitless = 0
  return {
    async pause(error, gained) {
      signal?.throwIfAborted()
      if (!(error instanceof TransientHubError)) throw error
      fruitless = gained ? 0 : fruitless + 1
      if (fruitless >= FRUITLESS_ATTEMPTS) throw error
      const pause = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** fruitless)
      await wait(Math.min(LONGEST_ASKED_WAIT_MS, error.waitMs ?? pause), signal).catch((cause: unknown) => {
        signal?.throwIfAborted()
        throw cause
      })
    },
  }
}
