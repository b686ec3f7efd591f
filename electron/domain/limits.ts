/** Everything bounded about one request and about all of them together. Reported by `/health` (http-api.md 10). */
export interface Limits {
  bodyBytes: number
  questions: number
  /** Of one choice. */
  options: number
  /** Of one score. */
  levels: number
  /** Of all questions of a request together; a noul counts 2. */
  totalOptions: number
  /** Code points of the text that reaches the model. */
  stateChars: number
  jsonDepth: number
  batchStates: number
  headerBytes: number
  connections: number
  /** Bodies held at once, being read or worked on: many near-limit bodies in parallel must not exhaust memory. */
  bytesInFlight: number
  headersMs: number
  requestMs: number
  keepAliveMs: number
  queueWaitMs: number
  /** One run of the engine, or the tokenization before it. */
  inferenceMs: number
}

export const DEFAULT_LIMITS: Readonly<Limits> = {
  bodyBytes: 2_097_152,
  questions: 64,
  options: 100,
  levels: 32,
  totalOptions: 512,
  stateChars: 50_000,
  jsonDepth: 64,
  batchStates: 64,
  headerBytes: 16_384,
  connections: 256,
  bytesInFlight: 67_108_864,
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than any listed client keeps an idle connection, so that the client closes first and never meets a reset.
  keepAliveMs: 75_000,
  queueWaitMs: 30_000,
  inferenceMs: 60_000,
}
