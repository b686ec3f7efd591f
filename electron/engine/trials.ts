import { fork } from 'node:child_process'
import type { RowOutput } from '../../models/pass.ts'
import type { ComputePlan } from '../../native-ep/index.ts'
import type { Evidence } from '../domain/device.ts'
import type { EngineInfo } from './engine.ts'
import { isSource, locateEntry, sourceExecArgv } from './entry.ts'
import type { PlainError } from './messages.ts'
import type { FromTrial, TrialRequest } from './trial-host.ts'

/** A throw-away process with a message channel. Node forks it here; inside the app the shell starts it. */
export interface TrialProcess {
  send(request: TrialRequest): void
  onMessage(listener: (message: FromTrial) => void): void
  /** Once, also when the process could not be started. */
  onExit(listener: (how: { code: number | null; signal: string | null }) => void): void
  /** The end of what it wrote to stderr. */
  stderr(): string
  kill(): void
}
export type StartTrial = () => TrialProcess

export interface TrialLimits {
  /** Until the engine is open. A cold compile of Core ML takes seconds per length. */
  openMs: number
  /** Between two signs of life afterwards. */
  silenceMs: number
}
export const TRIAL_LIMITS: TrialLimits = { openMs: 180_000, silenceMs: 60_000 }

/** What a trial came to. Crashes and hangs are outcomes like any other: nothing of this is thrown. */
export type TrialOutcome =
  | {
      kind: 'finished'
      info: EngineInfo
      /** Per pass, per row. */
      rows: RowOutput[][]
      timings: Map<string, number[]>
      profile?: NonNullable<Evidence['profile']>
      stderr: string
    }
  | { kind: 'planned'; plan: ComputePlan }
  | TrialFailure

export interface TrialFailure {
  kind: 'failed'
  how: 'threw' | 'crashed' | 'hung'
  during: 'open' | 'check' | 'timing'
  /** Passes answered before. */
  answered: number
  /** Threw: the error. */
  error?: PlainError
  /** Crashed: signal or exit code. Hung: the limit in words. */
  detail?: string
  stderr: string
}

export interface TrialOptions {
  limits?: TrialLimits
  /** Answers so far and the name of the running timing. */
  onProgress?(answered: number, step?: string): void
  /** Aborted: the process is killed and the promise rejects with the signal's reason. */
  signal?: AbortSignal
}

/**
 * Runs a request in a process of its own, so that an engine that crashes or never returns takes nothing with it.
 * @throws only the reason of `signal`.
 */
export function runTrial(
  request: TrialRequest,
  startTrial: StartTrial,
  { limits = TRIAL_LIMITS, onProgress, signal }: TrialOptions = {},
): Promise<TrialOutcome> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const trial = startTrial()
    const rows: RowOutput[][] = []
    const timings = new Map<string, number[]>()
    let info: EngineInfo | undefined
    let profile: Evidence['profile']
    const asked = request.kind === 'engine' ? request.passes.length : 0
    let timer = setTimeout(giveUp, limits.openMs, limits.openMs)

    function settle(outcome: TrialOutcome): void {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      trial.kill()
      resolve(outcome)
    }
    function fail(how: TrialFailure['how'], rest: Pick<TrialFailure, 'error' | 'detail'>): void {
      const during = info === undefined ? 'open' : rows.length < asked ? 'check' : 'timing'
      settle({ kind: 'failed', how, during, answered: rows.length, stderr: trial.stderr(), ...rest })
    }
    function giveUp(ms: number): void {
      fail('hung', { detail: `${Math.round(ms / 1000)} s` })
    }
    function onAbort(): void {
      clearTimeout(timer)
      trial.kill()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })

    trial.onMessage((message) => {
      clearTimeout(timer)
      const patienceMs = info === undefined && message.kind !== 'opened' ? limits.openMs : limits.silenceMs
      timer = setTimeout(giveUp, patienceMs, patienceMs)
      switch (message.kind) {
        case 'opened':
          info = message.info
          break
        case 'answered':
          rows.push(message.result.rows)
          onProgress?.(rows.length)
          break
        case 'timed':
          timings.set(message.name, message.samplesMs)
          break
        case 'progress':
          onProgress?.(rows.length, message.step)
          break
        case 'failed':
          fail('threw', { error: message.error })
          break
        case 'profiled':
          profile = message.kernels
          break
        case 'planned':
          settle({ kind: 'planned', plan: message.plan })
          break
        case 'done':
          if (info === undefined) break
          settle({
            kind: 'finished',
            info,
            rows,
            timings,
            ...(profile === undefined ? {} : { profile }),
            stderr: trial.stderr(),
          })
          break
      }
    })
    trial.onExit(({ code, signal: killedBy }) => fail('crashed', { detail: killedBy ?? `exit code ${code}` }))
    trial.send(request)
  })
}

const STDERR_KEPT = 64 * 1024

/** Starts `trial.ts` (or its bundle) as a Node child. `entry` and `env` are for tests. */
export function forkTrial(entry: URL = locateEntry('trial'), env: Record<string, string> = {}): TrialProcess {
  const child = fork(entry, {
    execArgv: isSource(entry) ? sourceExecArgv() : [],
    env: { ...process.env, ...env },
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_KEPT)
  })
  return {
    // A child that is already gone reports itself through `exit` or `error`.
    send: (request) => child.send(request, () => {}),
    onMessage: (listener) => child.on('message', (message) => listener(message as FromTrial)),
    onExit: (listener) => {
      child.once('exit', (code, signal) => listener({ code, signal }))
      child.once('error', (error) => {
        stderr += error.message
        listener({ code: null, signal: 'not started' })
      })
    },
    stderr: () => stderr,
    kill: () => child.kill('SIGKILL'),
  }
}
