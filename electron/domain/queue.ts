import { LayaError } from '../../models/errors.ts'

/** A place in the queue. Exactly one ticket at a time has its turn. */
export interface Ticket {
  /**
   * Settles when it is this caller's turn. Rejects with LayaError `overloaded` (waited too long) or `not_ready`
   * (the queue is being drained), or with `Cancelled` after `cancel`.
   */
  readonly turn: Promise<void>
  /** The caller left: the place is free at once. A turn that has begun is not ended by it. */
  cancel(): void
  /** Gives the turn to the next one. Called exactly once after `turn` resolved. */
  release(): void
  /**
   * Between two passes of a batch: lets at most one waiting single request run, then settles.
   * Rejects with LayaError `not_ready` once the queue is being drained: a batch must not outlive the service.
   */
  pause(): Promise<void>
}

export interface Queue {
  /** @throws LayaError `overloaded` or `not_ready`, with `retryAfter`. */
  admit(kind: 'single' | 'batch'): Ticket
  /** The cheap look before a body is read. Throws like `admit` and takes no place. */
  check(): void
  /** Admits nothing any more and turns the waiting ones away with `not_ready`; a turn that has begun goes on. */
  drain(sentence: string): void
  /** Settles when no turn is taken. */
  idle(): Promise<void>
  readonly depth: number
  /** 0 or 1. */
  readonly inFlight: number
  readonly capacity: number
  /** Whole seconds, 1..30: depth x recent median turn. */
  retryAfter(): number
}

export interface QueueParts {
  /** How many may wait beside the one that runs. Asked at each admission. */
  capacity(): number
  waitMs: number
  /** Monotonic milliseconds. */
  now(): number
  /** Returns the function that cancels it. */
  setTimer(callback: () => void, ms: number): () => void
  onDepth?: (depth: number) => void
}

/** Why `turn` rejected when its caller had left. Nobody is there to be told. */
export class Cancelled extends Error {}

interface Place {
  kind: 'single' | 'batch'
  begin(): void
  refuse(error: Error): void
}

const REMEMBERED = 64

/** First in, first out, one turn at a time (http-api.md 11). */
export function createQueue({ capacity, waitMs, now, setTimer, onDepth }: QueueParts): Queue {
  const waiting: Place[] = []
  let running = false
  /** The batch that stepped aside for a single request. */
  let host: (() => void) | null = null
  let drained: string | null = null
  let atRest: (() => void)[] = []
  const durations: number[] = []
  let oldest = 0

  const retryAfter = (): number => {
    const sorted = durations.toSorted((a, b) => a - b)
    const median = sorted[sorted.length >> 1] ?? 0
    return Math.min(30, Math.max(1, Math.ceil((waiting.length * median) / 1000)))
  }

  function check(): void {
    if (drained !== null) throw notReady(drained)
    const limit = capacity()
    if (!running || waiting.length < limit) return
    const seconds = retryAfter()
    throw new LayaError('overloaded', `${crowd(waiting.length)}; try again in ${seconds} s`, {
      retryAfter: seconds,
      extras: { queue_depth: waiting.length, queue_capacity: limit },
    })
  }

  const notReady = (sentence: string): LayaError =>
    new LayaError('not_ready', sentence, { retryAfter: retryAfter() })

  function leave(place: Place): boolean {
    const index = waiting.indexOf(place)
    if (index === -1) return false
    waiting.splice(index, 1)
    onDepth?.(waiting.length)
    return true
  }

  function finish(beganAt: number): void {
    durations[oldest] = now() - beganAt
    oldest = (oldest + 1) % REMEMBERED
    running = false
    const resume = host
    host = null
    if (resume !== null) {
      running = true
      resume()
    } else if (waiting.length > 0) start(waiting[0]!)
    else {
      for (const settle of atRest) settle()
      atRest = []
    }
  }

  function start(place: Place): void {
    leave(place)
    running = true
    place.begin()
  }

  function pause(): Promise<void> {
    if (drained !== null) return Promise.reject(notReady(drained))
    const guest = waiting.find(({ kind }) => kind === 'single')
    if (guest === undefined) return Promise.resolve()
    return new Promise((resolve) => {
      host = resolve
      start(guest)
    })
  }

  function admit(kind: 'single' | 'batch'): Ticket {
    check()
    let beganAt = now()
    if (!running) {
      running = true
      return { turn: Promise.resolve(), cancel: () => {}, release: () => finish(beganAt), pause }
    }
    let resolve: () => void = () => {}
    let reject: (error: Error) => void = () => {}
    const turn = new Promise<void>((fulfil, refuse) => {
      resolve = fulfil
      reject = refuse
    })
    const stopTimer = setTimer(() => {
      if (leave(place)) place.refuse(waitedTooLong())
    }, waitMs)
    const place: Place = {
      kind,
      begin() {
        stopTimer()
        beganAt = now()
        resolve()
      },
      refuse(error) {
        stopTimer()
        reject(error)
      },
    }
    waiting.push(place)
    onDepth?.(waiting.length)
    return {
      turn,
      cancel() {
        if (leave(place)) place.refuse(new Cancelled())
      },
      release: () => finish(beganAt),
      pause,
    }
  }

  function waitedTooLong(): LayaError {
    const seconds = retryAfter()
    return new LayaError(
      'overloaded',
      `the request waited ${waitMs / 1000} s for its turn; try again in ${seconds} s`,
      { retryAfter: seconds, extras: { queue_depth: waiting.length, queue_capacity: capacity() } },
    )
  }

  return {
    admit,
    check,
    drain(sentence) {
      drained = sentence
      const error = notReady(sentence)
      for (const place of waiting.splice(0)) place.refuse(error)
      onDepth?.(0)
    },
    idle: () => (running ? new Promise((resolve) => atRest.push(resolve)) : Promise.resolve()),
    get depth() {
      return waiting.length
    },
    get inFlight() {
      return running ? 1 : 0
    },
    get capacity() {
      return capacity()
    },
    retryAfter,
  }
}

function crowd(count: number): string {
  if (count === 0) return 'another request is running and none may wait'
  return count === 1 ? '1 request is waiting' : `${count} requests are waiting`
}
