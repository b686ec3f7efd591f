/** A place in the queue. Exactly one ticket at a time has its turn. */
export interface Ticket {
  /**
   * Settles when it is this caller's turn. Rejects with LayaError `overloaded` (waited too long), `not_ready`
   * (the queue is being drained), or with `Cancelled` after `cancel`.
   */
  readonly turn: Promise<void>
  /** The caller left: the place is free at once. A turn that has begun is not ended by it. */
  cancel(): void
  /** Gives the turn to the next one. Must be called exactly once after `turn` resolved. */
  release(): void
  /** Between two passes of a batch: lets at most one waiting single request run, then settles. */
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
  readonly inFlight: number
  readonly capacity: number
  /** Whole seconds, 1..30: queue depth x recent median turn. */
  retryAfter(): number
}

/** Why `turn` rejected when its caller had left. Nobody is there to be told. */
export class Cancelled extends Error {}
