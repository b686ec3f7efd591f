import type { Pass } from '../../models/pass.ts'
import type { Engine, EngineInfo, EngineSpec, PassResult } from './engine.ts'
import { type PlainError, toPlainError } from './messages.ts'

/** What one throw-away process is asked to do: open, answer the passes, then repeat some of them for the time. */
export interface TrialRequest {
  spec: EngineSpec
  passes: Pass[]
  timings: TrialTiming[]
}

export interface TrialTiming {
  name: string
  /** Run one after the other; the sum of their times is one sample. */
  passes: Pass[]
  /** Samples after one that is thrown away. */
  samples: number
}

export type FromTrial =
  | { kind: 'progress'; step: string }
  | { kind: 'opened'; info: EngineInfo }
  | { kind: 'answered'; result: PassResult }
  | { kind: 'timed'; name: string; samplesMs: number[] }
  | { kind: 'done' }
  | { kind: 'failed'; error: PlainError }

/** The process's side of a port, whoever started it. */
export interface TrialPort {
  receive(listener: (request: TrialRequest) => void): void
  post(message: FromTrial): void
}

type Open = (spec: EngineSpec, onProgress: (step: string) => void) => Promise<Engine>

/** Answers one request. The process then waits to be killed by the side that asked, so that no answer is lost. */
export function serveTrial(port: TrialPort, open: Open): void {
  port.receive((request) => {
    tryEngine(port, request, open).then(
      () => port.post({ kind: 'done' }),
      (error) => port.post({ kind: 'failed', error: toPlainError(error) }),
    )
  })
}

async function tryEngine(
  port: TrialPort,
  { spec, passes, timings }: TrialRequest,
  open: Open,
): Promise<void> {
  const engine = await open(spec, (step) => port.post({ kind: 'progress', step }))
  try {
    port.post({ kind: 'opened', info: engine.info })
    for (const pass of passes) port.post({ kind: 'answered', result: await engine.run(pass) })
    for (const timing of timings) {
      const samplesMs: number[] = []
      for (let sample = -1; sample < timing.samples; sample++) {
        let sumMs = 0
        for (const pass of timing.passes) sumMs += (await engine.run(pass)).forwardMs
        if (sample >= 0) samplesMs.push(sumMs)
        port.post({ kind: 'progress', step: timing.name })
      }
      port.post({ kind: 'timed', name: timing.name, samplesMs })
    }
  } finally {
    await engine.close()
  }
}

/** The port of a Node child with an IPC channel, or of an Electron utility process. */
export function createTrialPort(): TrialPort {
  const utility = (process as { parentPort?: UtilityPort }).parentPort
  if (utility !== undefined) {
    return {
      receive: (listener) => utility.on('message', ({ data }) => listener(data as TrialRequest)),
      post: (message) => utility.postMessage(message),
    }
  }
  // The asking side went away: nobody would read the answer.
  process.on('disconnect', () => process.exit(1))
  return {
    receive: (listener) => process.on('message', (message) => listener(message as TrialRequest)),
    post: (message) => process.send?.(message),
  }
}

interface UtilityPort {
  on(event: 'message', listener: (event: { data: unknown }) => void): void
  postMessage(message: unknown): void
}
