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

/**
 * Caller data as it may stand in a sentence or a log line: at most `limit` code points, control characters and
 * unpaired surrogates escaped, so that no message can be flooded, forged or made unencodable.
 */
export function excerpt(text: string, limit = 64): string {
  const head = Array.from(text.slice(0, 2 * limit + 1))
  const kept = head.slice(0, limit).join('')
  const escaped = kept.replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, (character) => {
    const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
    return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
  return head.length > limit ? `${escaped}…` : escaped
}
