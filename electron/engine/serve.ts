import type { MessagePort } from 'node:worker_threads'
import { LayaError } from '../../models/errors.ts'
import type { Encoder, Engine, EngineSpec } from './engine.ts'
import { buffersOf, type FromThread, type ToThread, toPlainError } from './messages.ts'

/** What a thread can open: the real network (`worker.ts`) or the double of the tests (`fake-worker.ts`). */
export interface Makers {
  openEngine(spec: EngineSpec, onProgress: (step: string) => void): Promise<Engine>
  openEncoder(checkpointFolder: string): Promise<Encoder>
}

/**
 * The thread's side of `EngineThread`: answers calls on `port` until `end`, then closes what is open, sessions
 * first (live sessions at exit have crashed), and lets the port go so that the thread ends by itself.
 */
export function serveThread(port: MessagePort, makers: Makers): void {
  const engines = new Map<number, { engine: Engine; turn: Promise<unknown> }>()
  const encoders = new Map<number, Encoder>()
  let last = 0

  const post = (message: FromThread): void =>
    port.postMessage(message, message.kind === 'done' ? [...buffersOf(message.value)] : [])

  const engineOf = (id: number) => {
    const open = engines.get(id)
    if (open === undefined) throw new LayaError('inference_failed', 'the engine was closed before this run')
    return open
  }

  async function answer(call: ToThread): Promise<unknown> {
    switch (call.kind) {
      case 'openEngine': {
        const engine = await makers.openEngine(call.spec, (step) =>
          post({ kind: 'progress', id: call.id, step }),
        )
        engines.set(++last, { engine, turn: Promise.resolve() })
        return { engine: last, info: engine.info }
      }
      case 'run': {
        const open = engineOf(call.engine)
        const run = open.turn.then(() => open.engine.run(call.pass))
        open.turn = run.catch(() => {})
        return run
      }
      case 'closeEngine': {
        const open = engines.get(call.engine)
        engines.delete(call.engine)
        await open?.turn
        return open?.engine.close()
      }
      case 'openEncoder': {
        const encoder = await makers.openEncoder(call.folder)
        encoders.set(++last, encoder)
        return { encoder: last, window: encoder.window }
      }
      case 'encode': {
        const encoder = encoders.get(call.encoder)
        if (encoder === undefined)
          throw new LayaError('internal_error', 'the tokenizer was closed before this call')
        return encoder.encode(call.state, call.questions, call.window)
      }
      case 'closeEncoder': {
        const encoder = encoders.get(call.encoder)
        encoders.delete(call.encoder)
        return encoder?.close()
      }
      case 'end': {
        for (const { engine, turn } of engines.values()) {
          await turn
          await engine.close()
        }
        for (const encoder of encoders.values()) await encoder.close()
        return undefined
      }
    }
  }

  port.on('message', (call: ToThread) => {
    answer(call).then(
      (value) => {
        post({ kind: 'done', id: call.id, value })
        if (call.kind === 'end') port.close()
      },
      (error) => {
        post({ kind: 'failed', id: call.id, error: toPlainError(error) })
        // A session that cannot be released must not keep a thread that was told to end.
        if (call.kind === 'end') port.close()
      },
    )
  })
}
