import { Worker } from 'node:worker_threads'
import { LayaError } from '../../models/errors.ts'
import type { Pass } from '../../models/pass.ts'
import type { Question } from '../../models/question.ts'
import type { TokenRow, Window } from '../../models/sequence.ts'
import type { Encoder, Engine, EngineInfo, EngineThread, PassResult } from './engine.ts'
import { isSource, locateEntry, sourceWorkerText } from './entry.ts'
import { compact, type FromThread, fromPlainError, type ToThread } from './messages.ts'

interface EngineThreadOptions {
  /** Another entry than `worker.ts`; tests start the double of `fake-worker.ts`. */
  workerUrl?: URL
  /** Handed to that entry. */
  workerData?: unknown
}

interface Call {
  resolve(value: unknown): void
  reject(error: Error): void
  onProgress?: ((step: string) => void) | undefined
}

/** Node's union would lose its members to `Omit` alone. */
type Without<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never

/**
 * Starts the one worker thread that holds onnxruntime and the tokenizers (accelerators.md 14).
 *
 * Rows are copied on the way in, because a caller repeats them on a replaced thread; outputs are moved on the way
 * out. A thread that ended by itself settles `died` and fails every waiting call with `inference_failed`; its owner
 * starts another. A thread that did not end within `close` must not get a second one beside it: the process ends.
 */
export function createEngineThread({ workerUrl, workerData }: EngineThreadOptions = {}): EngineThread {
  const url = workerUrl ?? locateEntry('worker')
  const worker = isSource(url)
    ? new Worker(sourceWorkerText(url), { eval: true, workerData, name: 'engine' })
    : new Worker(url, { workerData, name: 'engine' })

  const calls = new Map<number, Call>()
  let last = 0
  let closing: Promise<boolean> | undefined
  let cause: Error | undefined
  let failure: LayaError | undefined
  let settleDied: (error: Error) => void = () => {}
  let settleEnded: () => void = () => {}
  const died = new Promise<Error>((resolve) => {
    settleDied = resolve
  })
  const ended = new Promise<void>((resolve) => {
    settleEnded = resolve
  })

  worker.on('message', (message: FromThread) => {
    const call = calls.get(message.id)
    if (call === undefined) return
    if (message.kind === 'progress') return call.onProgress?.(message.step)
    calls.delete(message.id)
    if (message.kind === 'done') call.resolve(message.value)
    else call.reject(fromPlainError(message.error))
  })
  worker.on('error', (error) => {
    cause = error
  })
  worker.on('exit', (exitCode) => {
    failure = new LayaError('inference_failed', 'the engine thread ended before it answered', {
      hint: 'Send the request again; a new engine thread takes its place.',
      cause: cause ?? new Error(`exit code ${exitCode}`),
    })
    for (const call of calls.values()) call.reject(failure)
    calls.clear()
    settleEnded()
    if (closing === undefined) settleDied(failure)
  })

  function send<T>(message: Without<ToThread, 'id'>, onProgress?: (step: string) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // After `exit` nothing would ever answer.
      if (failure !== undefined) return reject(failure)
      const id = ++last
      worker.postMessage({ ...message, id })
      calls.set(id, { resolve: resolve as Call['resolve'], reject, onProgress })
    })
  }

  async function endWithin(withinMs: number): Promise<boolean> {
    const start = performance.now()
    // Releasing sessions comes first; `terminate` alone would leave them to the process exit.
    const orderly = send({ kind: 'end' }).catch(() => {})
    await within(Promise.race([ended, orderly.then(() => ended)]), withinMs * 0.75)
    const termination = worker.terminate()
    const stopped = Promise.race([ended, termination]).then(() => true)
    return (await within(stopped, withinMs - (performance.now() - start))) ?? false
  }

  return {
    async openEngine(spec, onProgress) {
      const opened = await send<{ engine: number; info: EngineInfo }>(
        { kind: 'openEngine', spec },
        onProgress,
      )
      return engineProxy(send, opened.engine, opened.info)
    },
    async openEncoder(folder) {
      const opened = await send<{ encoder: number; window: Window }>({ kind: 'openEncoder', folder })
      return encoderProxy(send, opened.encoder, opened.window)
    },
    died,
    close(withinMs = 2000) {
      closing ??= endWithin(withinMs)
      return closing
    },
  }
}

type Send = <T>(message: Without<ToThread, 'id'>) => Promise<T>

function engineProxy(send: Send, engine: number, info: EngineInfo): Engine {
  return {
    info,
    run: async (pass) => send<PassResult>({ kind: 'run', engine, pass: portablePass(pass) }),
    close: () => send<void>({ kind: 'closeEngine', engine }),
  }
}

function encoderProxy(send: Send, encoder: number, window: Window): Encoder {
  return {
    window,
    encode: (state, questions, override) =>
      send<TokenRow[]>({
        kind: 'encode',
        encoder,
        state,
        questions: questions.map(textsOf),
        window: override,
      }),
    close: () => send<void>({ kind: 'closeEncoder', encoder }),
  }
}

function portablePass({ length, selected, rows, index }: Pass): Pass {
  const portable = rows.map(({ ids, markers, type }) => ({
    ids: compact(ids),
    markers: compact(markers),
    type,
  }))
  return { length, selected, rows: portable, index }
}

/** What tokenization reads. Values and legends stay here: they may be large, and cloning loses their classes. */
function textsOf({ id, type, instructions, options, order }: Question): Question {
  const texts = options.map(({ key, text }) => ({ key, text, value: null }))
  return order === undefined
    ? { id, type, instructions, options: texts }
    : { id, type, instructions, options: texts, order }
}

/** The value, or undefined after the time. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | number | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
