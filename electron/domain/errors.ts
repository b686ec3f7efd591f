import { excerpt, type FieldError, LayaError } from '../../models/errors.ts'

interface Entry {
  /** HTTP status; `null` for a failure that no route answers with. */
  status: number | null
  title: string
}

/**
 * The closed catalogue: every code a program can meet, on the wire (http-api.md 8.3), in the panel or on the command
 * line. Sentences are made where the fault is found; status and title are fixed here.
 */
export const CATALOGUE = {
  malformed_request: { status: 400, title: 'The request cannot be read' },
  unknown_model: { status: 400, title: 'No checkpoint has this name' },
  model_not_loaded: { status: 400, title: 'The checkpoint is not loaded' },
  stream_not_supported: { status: 400, title: 'Answers are not streamed' },
  max_tokens_exceeded: { status: 400, title: 'The request does not fit the window of the checkpoint' },
  unauthorized: { status: 401, title: 'A bearer token is needed' },
  forbidden_host: { status: 403, title: 'The Host header names another machine' },
  forbidden_origin: { status: 403, title: 'This web page may not call the server' },
  not_found: { status: 404, title: 'No such route' },
  method_not_allowed: { status: 405, title: 'The route has other methods' },
  request_timeout: { status: 408, title: 'The request arrived too slowly' },
  too_large: { status: 413, title: 'The request body is too large' },
  too_many_questions: { status: 413, title: 'Too many questions' },
  too_many_options: { status: 413, title: 'Too many answer options' },
  too_many_levels: { status: 413, title: 'Too many score levels' },
  too_many_states: { status: 413, title: 'Too many states' },
  state_too_large: { status: 413, title: 'The state is too large' },
  state_too_long: { status: 413, title: 'The state does not fit the window' },
  question_too_long: { status: 413, title: 'A question does not fit the window' },
  unsupported_media_type: { status: 415, title: 'The body must be uncompressed JSON' },
  invalid_question: { status: 422, title: 'A question cannot be answered as asked' },
  invalid_parameter: { status: 422, title: 'A parameter has a value it cannot have' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  inference_failed: { status: 500, title: 'The engine failed' },
  internal_error: { status: 500, title: 'Internal error' },
  not_ready: { status: 503, title: 'Not ready to answer' },
  overloaded: { status: 503, title: 'Too many requests are waiting' },
  inference_timeout: { status: 504, title: 'The engine did not answer in time' },

  port_in_use: { status: null, title: 'The port is in use' },
  service_crashed: { status: null, title: 'The service ended unexpectedly' },
  service_not_running: { status: null, title: 'The service is not running' },
  engine_unavailable: { status: null, title: 'The engine cannot be used here' },
  invalid_setting: { status: null, title: 'A setting has a value it cannot have' },
  invalid_command: { status: null, title: 'The command cannot be understood' },
  checkpoint_unusable: { status: null, title: 'The checkpoint cannot be used' },
  checkpoint_locked: { status: null, title: 'The checkpoint is in use by another program' },
  invalid_checkpoint_name: { status: null, title: 'The name cannot be used for a checkpoint' },
  checkpoint_not_installed: { status: null, title: 'The checkpoint is not installed' },
  checkpoint_exists: { status: null, title: 'The checkpoint is already installed' },
  checkpoint_not_removable: { status: null, title: 'The checkpoint cannot be removed' },
  digest_mismatch: { status: null, title: 'A file does not match its digest' },
  disk_full: { status: null, title: 'The disk is full' },
  storage_failed: { status: null, title: 'A file cannot be read or written' },
  offline: { status: null, title: 'Offline by choice' },
  hub_unreachable: { status: null, title: 'The hub cannot be reached' },
  hub_forbidden: { status: null, title: 'The hub does not give out the file' },
  hub_not_found: { status: null, title: 'The hub does not have the file' },
  hub_error: { status: null, title: 'The hub answered unexpectedly' },
} as const satisfies Record<string, Entry>

export type ErrorCode = keyof typeof CATALOGUE

/** HTTP status of a code; one that no route should answer with is a fault of ours. */
export function statusOf(code: string): number {
  return entryOf(code).status ?? 500
}

function entryOf(code: string): Entry {
  return Object.hasOwn(CATALOGUE, code) ? CATALOGUE[code as ErrorCode] : CATALOGUE.internal_error
}

/**
 * What the world may know of anything that was thrown. A LayaError with a status says what it says; everything else
 * is `internal_error` without a stack, a path or a message of someone else's making.
 *
 * @param requestId leads from the answer to the log line.
 */
export function publicError(thrown: unknown, requestId: string): LayaError {
  if (thrown instanceof LayaError && thrown.code !== 'internal_error') {
    const { status } = entryOf(thrown.code)
    if (status !== null && Object.hasOwn(CATALOGUE, thrown.code)) return thrown
  }
  return new LayaError('internal_error', `internal error; the log line is ${requestId}`, { cause: thrown })
}

/**
 * The one error document: RFC 9457, with `detail` a sentence and `error` the twin that SDKs of other houses look for
 * (http-api.md 8.1). JSON text.
 *
 * @param error with a code of the catalogue, see `publicError`.
 */
export function problemDocument(error: LayaError, requestId: string): string {
  const status = statusOf(error.code)
  const { hint, errors, limit, actual, extras } = error.details
  const detail = hint === undefined ? error.message : join(error.message, hint)
  return JSON.stringify({
    type: `urn:laya:problem:${error.code.replaceAll('_', '-')}`,
    title: entryOf(error.code).title,
    status,
    code: error.code,
    detail,
    instance: `urn:request:${requestId}`,
    ...(errors !== undefined && { errors }),
    ...(limit !== undefined && { limit }),
    ...(actual !== undefined && { actual }),
    ...extras,
    error: { code: status, message: detail },
  })
}

/** Cause and next step as one sentence. */
function join(sentence: string, hint: string): string {
  const next = hint.replace(/\.$/, '')
  // A second capital marks a name or an abbreviation, which keeps its form.
  const step = /^[A-Z][a-z ]/.test(next) ? `${next.charAt(0).toLowerCase()}${next.slice(1)}` : next
  return `${sentence.replace(/\.$/, '')}; ${step}`
}

/**
 * One refusal for several faults: `errors` names all, the sentence tells the first and how many more there are.
 *
 * @param faults at least one.
 */
export function refuseAll(
  code: ErrorCode,
  faults: FieldError[],
  sentenceOf: (first: FieldError) => string,
): LayaError {
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return new LayaError(code, `${sentenceOf(faults[0]!)}${more}`, { errors: faults })
}

/** Longest part of a caller's name that `errors[]` repeats: ids may not be longer anyway. */
const NAME_CHARS = 128

/** A question id as `errors[]` names it: whole where it can be one. */
export function nameOf(id: string): string {
  return Array.from(id.slice(0, 2 * NAME_CHARS)).length <= NAME_CHARS && id.length <= 2 * NAME_CHARS
    ? id
    : excerpt(id, NAME_CHARS)
}
