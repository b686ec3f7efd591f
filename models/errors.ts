/** Every failure this program reports: a code from the closed catalogue (`electron/domain/errors.ts`) and a sentence. */
export class LayaError extends Error {
  readonly code: string
  readonly details: ErrorDetails

  constructor(code: string, sentence: string, details: ErrorDetails = {}) {
    super(sentence, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'LayaError'
    this.code = code
    this.details = details
  }
}

export interface ErrorDetails {
  /** What to do next, as a sentence. */
  hint?: string
  cause?: unknown
  limit?: number
  actual?: number
  /** Every bad question or parameter of a request. */
  errors?: FieldError[]
  /** Members added to the problem document as they are (`queue_depth`, `phase`, `models` …). */
  extras?: Record<string, unknown>
  /** Seconds. */
  retryAfter?: number
}

export interface FieldError {
  question?: string
  parameter?: string
  field?: string
  detail: string
}
