import { LayaError } from './errors.ts'

/** How long a connection may stay silent before it counts as lost. */
export const SILENCE_TIMEOUT_MS = 60_000

/** A failure that may go away by itself; `LayaError`s that are not of this kind do not. */
export class TransientHubError extends LayaError {
  /** What the server asked us to wait. */
  readonly waitMs: number | null
  constructor(sentence: string, waitMs: number | null = null, cause?: unknown) {
    super('hub_unreachable', sentence, {
      cause,
      hint: 'What was fetched so far is kept. Check the connection, the proxy and the mirror in Settings, then resume.',
    })
    this.waitMs = waitMs
  }
}

/** Turns the status of a refused request for `file` into the error to throw. */
export function refuse(
  file: string,
  answer: { status: number; url: URL; waitMs: number | null; sentToken: boolean },
  endpoint: URL,
): never {
  const { status, url, waitMs, sentToken } = answer
  if (status === 401 || status === 403) {
    // A refusal by the content network is an expired link: asking the Hub again gives a new one.
    if (url.origin !== endpoint.origin)
      throw new TransientHubError(`${url.host} refused the link to the file (status ${status}).`, waitMs)
    throw new LayaError('hub_forbidden', `${url.host} does not give out '${file}' (status ${status}).`, {
      hint: sentToken
        ? 'Accept the conditions of the repository on its page with the account of your token, then try again.'
        : 'If the repository is private or gated, put a token into HF_TOKEN or log in with `hf auth login`, then try again.',
    })
  }
  if (status === 404)
    throw new LayaError('hub_not_found', `${url.host} has no '${file}' at this revision.`, {
      hint: 'Check the repository, the revision and the folder, and the mirror in Settings.',
    })
  if (status === 408 || status === 429 || status >= 500)
    throw new TransientHubError(`${url.host} answered with status ${status}.`, waitMs)
  throw new LayaError('hub_error', `${url.host} answered with the unexpected status ${status}.`, {
    hint: 'Try again later, or set another mirror in Settings.',
  })
}

/** The innermost reason a connection failed, in words. */
export function describeCause(error: unknown): string {
  const codes: Record<string, string> = {
    ENOTFOUND: 'its name is not known, or there is no connection',
    EAI_AGAIN: 'its name cannot be looked up',
    ECONNREFUSED: 'it refuses the connection',
    ECONNRESET: 'the connection was reset',
    ENETUNREACH: 'there is no way to it',
    EHOSTUNREACH: 'there is no way to it',
    ETIMEDOUT: 'it does not answer',
    UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
    UND_ERR_HEADERS_TIMEOUT: 'it does not answer',
    UND_ERR_BODY_TIMEOUT: `nothing arrived for ${SILENCE_TIMEOUT_MS / 1000} s`,
    UND_ERR_SOCKET: 'the connection was closed',
    UND_ERR_ABORTED: 'the proxy refused the connection',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer ended too early',
  }
  let cause = error
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const inner = cause instanceof AggregateError ? cause.errors[0] : cause.cause
    const code = (cause as NodeJS.ErrnoException).code
    if (code?.startsWith('CERT_') || code?.includes('SELF_SIGNED') || code?.includes('UNABLE_TO_'))
      return `its certificate is not trusted (${code})`
    if (!inner && code) return codes[code] ?? `${code}`
    if (!inner) break
    cause = inner
  }
  return 'the connection failed'
}
