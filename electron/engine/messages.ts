import { type ErrorDetails, LayaError } from '../../models/errors.ts'
import type { Pass } from '../../models/pass.ts'
import type { Question } from '../../models/question.ts'
import type { Window } from '../../models/sequence.ts'
import type { EngineSpec } from './engine.ts'

/** What crosses the border of the engine's thread. Plain values; `id` pairs a call with its answer. */
export type ToThread = { id: number } & (
  | { kind: 'openEngine'; spec: EngineSpec }
  | { kind: 'run'; engine: number; pass: Pass }
  | { kind: 'closeEngine'; engine: number }
  | { kind: 'openEncoder'; folder: string }
  | {
      kind: 'encode'
      encoder: number
      state: { text: string; list: boolean }
      questions: Question[]
      window: Window
    }
  | { kind: 'closeEncoder'; encoder: number }
  | { kind: 'end' }
)

export type FromThread =
  | { kind: 'progress'; id: number; step: string }
  | { kind: 'done'; id: number; value: unknown }
  | { kind: 'failed'; id: number; error: PlainError }

/** An error without its class: structured clone keeps only the message of an Error. */
export interface PlainError {
  code: string
  sentence: string
  details: Omit<ErrorDetails, 'cause'>
  /** What the cause said, for the log. */
  cause?: string
}

export function toPlainError(error: unknown): PlainError {
  if (!(error instanceof LayaError)) {
    return {
      code: 'internal_error',
      sentence: 'the engine thread failed',
      details: {},
      cause: describe(error),
    }
  }
  const { cause, ...details } = error.details
  const plain: PlainError = { code: error.code, sentence: error.message, details }
  if (cause !== undefined) plain.cause = describe(cause)
  return plain
}

export function fromPlainError({ code, sentence, details, cause }: PlainError): LayaError {
  return new LayaError(
    code,
    sentence,
    cause === undefined ? details : { ...details, cause: new Error(cause) },
  )
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * A view whose buffer holds nothing else, so that structured clone copies this row and not a whole table.
 * Throws a TypeError on shared memory: onnxruntime refuses it with "Invalid argument" (accelerators.md 14).
 */
export function compact<T extends Int32Array | Float32Array>(array: T): T {
  if (typeof SharedArrayBuffer !== 'undefined' && array.buffer instanceof SharedArrayBuffer) {
    throw new TypeError('token rows may not lie in a SharedArrayBuffer; copy them first')
  }
  return array.byteLength === array.buffer.byteLength ? array : (array.slice() as T)
}

/** Every buffer of the typed arrays inside a reply, once, to be moved instead of copied. */
export function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer)
  } else if (value !== null && typeof value === 'object') {
    for (const member of Object.values(value)) buffersOf(member, found)
  }
  return found
}
