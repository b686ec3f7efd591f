import type { Command, FromService, Phase, Problem, Result, Snapshot, ToService } from '../contract.ts'
import { type Breaker, PROCESS_RULE, strike, UNBROKEN } from './breaker.ts'
import { next, serves } from './phase.ts'

/** One service process, whatever forked it: Electron's utilityProcess or Node's child_process. */
export interface Child {
  readonly pid: number | undefined
  post(message: ToService): void
  /** SIGKILL ends it whatever it does; SIGTERM asks. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): void
  onMessage(listener: (message: FromService) => void): void
  /** Called once, when the end of the process was observed. `how` is for people; exit codes have been wrong before. */
  onExit(listener: (how: string) => void): void
}

export interface Launch {
  /** Counts up with every process. */
  generation: number
  /** Why the process before it ended, when nobody asked it to. */
  failure?: Problem
}

export interface SupervisorParts {
  /** May throw: that counts as a crash. */
  spawn(launch: Launch): Child
  /** Returns the function that cancels it. */
  setTimer(callback: () => void, ms: number): () => void
  now(): number
  /** Everything the current process says, results of `command` excepted. */
  onMessage(message: FromService): void
  onChange(state: SupervisorState): void
}

export interface SupervisorState {
  phase: Phase
  /** Epoch milliseconds at which `phase` began. */
  since: number
  generation: number
  pid?: number
  /** Restarts since the last minute of good service or the last Start. */
  restarts: number
  /** Epoch milliseconds of the coming restart. */
  retryAt?: number
  /** Why the service failed, or why it was started again. Cleared by Start. */
  problem?: Problem
}

export interface Supervisor {
  state(): SupervisorState
  /** The latest of start, stop and restart wins. Starting what already runs changes nothing. */
  start(): void
  /** Settles when no process is left, or when a later start took over. */
  stop(): Promise<void>
  restart(): void
  /** False when no process runs. */
  post(message: ToService): boolean
  /** Asks the process; answers with `service_not_running` when there is none or it ends before it answered. */
  command(command: Command): Promise<Result>
}

/** A process that was asked to stop drains within 2 s by itself and is killed after this time. */
export const KILL_MS = 3000
/** This long ready, and earlier crashes are forgotten. */
export const FORGIVE_MS = 60_000

/**
 * Keeps at most one service process alive. Only the observed exit of a process counts as its end; an exit nobody
 * asked for is a failure, whatever its code, and is followed by a new process after 1, 2 and 4 s, then by `failed`.
 */
export function createSupervisor(parts: SupervisorParts): Supervisor {
  let state: SupervisorState = { phase: 'stopped', since: parts.now(), generation: 0, restarts: 0 }
  let wanted: 'running' | 'stopped' = 'stopped'
  let child: Child | null = null
  /** The current process was asked to end, or was killed because it must be replaced on request. */
  let ending = false
  let breaker: Breaker = UNBROKEN
  let reason: Problem | undefined
  let held = false
  let lastId = 0
  const pending = new Map<number, (result: Result) => void>()
  let stopped: (() => void)[] = []
  let cancelKill = () => {}
  let cancelRetry = () => {}
  let cancelForgive: (() => void) | null = null

  return { state: () => state, start, stop, restart, post, command }

  function start(): void {
    wanted = 'running'
    settleStops()
    if (child !== null) {
      // Start on a process that runs but could not load anything: only a fresh one makes a difference.
      if (!ending && state.phase === 'failed') restart()
      return
    }
    cancelRetry()
    breaker = UNBROKEN
    launch(undefined)
  }

  function stop(): Promise<void> {
    wanted = 'stopped'
    cancelRetry()
    if (child === null) {
      change({ phase: 'stopped', retryAt: undefined, problem: undefined, restarts: 0 })
      return Promise.resolve()
    }
    end()
    return new Promise((resolve) => stopped.push(resolve))
  }

  function restart(): void {
    if (child === null) {
      start()
      return
    }
    wanted = 'running'
    settleStops()
    end()
  }

  function post(message: ToService): boolean {
    if (child === null || ending) return false
    child.post(message)
    return true
  }

  function command(command: Command): Promise<Result> {
    const id = ++lastId
    if (!post({ kind: 'command', id, command })) return Promise.resolve(notRunning())
    return new Promise((resolve) => pending.set(id, resolve))
  }

  function launch(failure: Problem | undefined): void {
    const generation = state.generation + 1
    reason = undefined
    held = false
    ending = false
    change({ phase: 'starting', generation, pid: undefined, retryAt: undefined, problem: failure })
    try {
      const born = parts.spawn({ generation, ...(failure && { failure }) })
      child = born
      born.onMessage((message) => {
        if (child === born) hear(message, born)
      })
      born.onExit((how) => {
        if (child === born) exited(how)
      })
      change({ pid: born.pid })
    } catch (error) {
      reason = {
        code: 'service_crashed',
        sentence: `The service could not be started: ${error instanceof Error ? error.message : String(error)}.`,
      }
      failed('')
    }
  }

  function hear(message: FromService, from: Child): void {
    switch (message.kind) {
      case 'result': {
        pending.get(message.id)?.(message.result)
        pending.delete(message.id)
        return
      }
      case 'snapshot':
        follow(message.snapshot)
        break
      case 'fatal':
        reason = message.problem
        held = true
        break
      case 'crash':
        reason = message.problem
        break
      case 'hung':
        reason = message.problem
        from.kill('SIGKILL')
        break
      case 'asked':
        break
    }
    parts.onMessage(message)
  }

  function follow({ phase, error }: Snapshot): void {
    if (ending) return
    if (serves(phase)) {
      cancelForgive ??= parts.setTimer(() => {
        breaker = UNBROKEN
        change({ restarts: 0 })
      }, FORGIVE_MS)
    } else endForgiving()
    if (phase !== state.phase) change(phase === 'failed' ? { phase, problem: error } : { phase })
  }

  /** Asks the current process to end and makes sure that it does. */
  function end(): void {
    if (child === null || ending) return
    const dying = child
    ending = true
    endForgiving()
    change({ phase: next(state.phase, 'stop'), retryAt: undefined })
    dying.post({ kind: 'stop' })
    cancelKill = parts.setTimer(() => dying.kill('SIGKILL'), KILL_MS)
  }

  function exited(how: string): void {
    // The handle goes first: posting to a child inside its exit listener crashes Electron 44 (electron#53923).
    child = null
    cancelKill()
    endForgiving()
    for (const answer of pending.values()) answer(notRunning())
    pending.clear()
    const asked = ending
    ending = false
    if (wanted === 'stopped') {
      change({ phase: 'stopped', pid: undefined, problem: undefined, restarts: 0 })
      settleStops()
    } else if (asked) {
      breaker = UNBROKEN
      change({ restarts: 0 })
      launch(undefined)
    } else failed(how)
  }

  function failed(how: string): void {
    const problem = reason ?? unexpected(how)
    const struck = strike(breaker, PROCESS_RULE, parts.now())
    breaker = struck.breaker
    if (held || struck.delayMs === null) {
      change({ phase: 'failed', pid: undefined, problem })
      return
    }
    const { delayMs } = struck
    change({
      phase: 'starting',
      pid: undefined,
      problem,
      restarts: breaker.failures.length,
      retryAt: parts.now() + delayMs,
    })
    cancelRetry = parts.setTimer(() => launch(problem), delayMs)
  }

  function endForgiving(): void {
    cancelForgive?.()
    cancelForgive = null
  }

  function settleStops(): void {
    const waiting = stopped
    stopped = []
    for (const resolve of waiting) resolve()
  }

  function change(patch: Partial<SupervisorState>): void {
    const moved = patch.phase !== undefined && patch.phase !== state.phase
    state = { ...state, ...patch, ...(moved && { since: parts.now() }) }
    parts.onChange(state)
  }
}

function notRunning(): Result {
  return {
    ok: false,
    error: {
      code: 'service_not_running',
      sentence: 'The service is not running.',
      hint: 'Start serving first.',
    },
  }
}

function unexpected(how: string): Problem {
  return {
    code: 'service_crashed',
    sentence: `The service stopped unexpectedly${how === '' ? '' : ` (${how})`}.`,
    hint: 'The log has the last lines before it. Copy report collects what is needed to file an issue.',
  }
}
