import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pass } from '../../models/pass.ts'
import type { ComputePlan } from '../../native-ep/index.ts'
import type { Evidence } from '../domain/device.ts'
import type { Engine, EngineInfo, EngineSpec, PassResult } from './engine.ts'
import { type PlainError, toPlainError } from './messages.ts'
import type { ComputeUnits } from './native.ts'
import { countKernels, PROVIDERS } from './placement.ts'

/** What one throw-away process is asked to do. */
export type TrialRequest =
  | {
      kind: 'engine'
      spec: EngineSpec
      /** Answered one by one. */
      passes: Pass[]
      /** Repeated afterwards for the time. */
      timings: TrialTiming[]
      /** Opens the engine once more for one profiled run: cheap where creation does not compile. */
      profile?: Pass
    }
  | {
      kind: 'plan'
      /** A compiled Core ML bundle. */
      bundle: string
      units: ComputeUnits
    }

export interface TrialTiming {
  name: string
  /** Run one after the other; the sum of their times is one sample. */
  passes: Pass[]
  /** Samples after one that is thrown away. */
  samples: number
  /** Enough time spent: three samples will do. */
  budgetMs: number
}

export type FromTrial =
  | { kind: 'progress'; step: string }
  | { kind: 'opened'; info: EngineInfo }
  | { kind: 'answered'; result: PassResult }
  | { kind: 'timed'; name: string; samplesMs: number[] }
  | { kind: 'profiled'; kernels: NonNullable<Evidence['profile']> }
  | { kind: 'planned'; plan: ComputePlan }
  | { kind: 'done' }
  | { kind: 'failed'; error: PlainError }

/** The process's side of a port, whoever started it. */
export interface TrialPort {
  receive(listener: (request: TrialRequest) => void): void
  post(message: FromTrial): void
}

/** What a trial process can do: the real network (`trial.ts`) or the double of the tests (`fake-trial.ts`). */
export interface TrialTools {
  openEngine(spec: EngineSpec, onProgress: (step: string) => void): Promise<Engine>
  readPlan(bundle: string, units: ComputeUnits): Promise<ComputePlan>
}

/** Answers one request. The process then waits to be killed by the side that asked, so that no answer is lost. */
export function serveTrial(port: TrialPort, tools: TrialTools): void {
  port.receive((request) => {
    const work =
      request.kind === 'engine'
        ? tryEngine(port, request, tools)
        : tools.readPlan(request.bundle, request.units).then((plan) => port.post({ kind: 'planned', plan }))
    work.then(
      () => port.post({ kind: 'done' }),
      (error) => port.post({ kind: 'failed', error: toPlainError(error) }),
    )
  })
}

type EngineRequest = Extract<TrialRequest, { kind: 'engine' }>

async function tryEngine(port: TrialPort, request: EngineRequest, { openEngine }: TrialTools): Promise<void> {
  const onProgress = (step: string) => port.post({ kind: 'progress', step })
  const engine = await openEngine(request.spec, onProgress)
  try {
    port.post({ kind: 'opened', info: engine.info })
    for (const pass of request.passes) port.post({ kind: 'answered', result: await engine.run(pass) })
    for (const timing of request.timings) {
      port.post({
        kind: 'timed',
        name: timing.name,
        samplesMs: await takeSamples(engine, timing, onProgress),
      })
    }
  } finally {
    await engine.close()
  }
  if (request.profile !== undefined) {
    const kernels = await profileRun(request.spec, request.profile, openEngine, onProgress)
    port.post({ kind: 'profiled', kernels })
  }
}

async function takeSamples(
  engine: Engine,
  { name, passes, samples, budgetMs }: TrialTiming,
  onProgress: (step: string) => void,
): Promise<number[]> {
  const taken: number[] = []
  let spentMs = 0
  for (let number = 0; number <= samples && (spentMs < budgetMs || taken.length < 3); number++) {
    let sumMs = 0
    for (const pass of passes) sumMs += (await engine.run(pass)).forwardMs
    spentMs += sumMs
    if (number > 0) taken.push(sumMs)
    onProgress(name)
  }
  return taken
}

/** The profile of a session holds every run of it, so that the warm-up counts as well. */
async function profileRun(
  spec: EngineSpec,
  pass: Pass,
  openEngine: TrialTools['openEngine'],
  onProgress: (step: string) => void,
): Promise<NonNullable<Evidence['profile']>> {
  const folder = mkdtempSync(join(tmpdir(), 'laya-profile-'))
  try {
    const lengths = spec.lengths === undefined ? {} : { lengths: [pass.length] }
    const engine = await openEngine({ ...spec, ...lengths, profilePrefix: join(folder, 'run') }, onProgress)
    try {
      await engine.run(pass)
    } finally {
      await engine.close()
    }
    // onnxruntime adds a time to the prefix and does not say which.
    const counts = readdirSync(folder).map((name) =>
      countKernels(readFileSync(join(folder, name), 'utf8'), PROVIDERS[spec.engine]),
    )
    return counts.reduce(
      (sum, one) => ({ engine: sum.engine + one.engine, others: sum.others + one.others }),
      {
        engine: 0,
        others: 0,
      },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
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
