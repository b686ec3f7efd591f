import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FromService, Phase, Problem, Snapshot, ToService } from '../contract.ts'
import {
  type Child,
  createSupervisor,
  FORGIVE_MS,
  KILL_MS,
  type Launch,
  type SupervisorState,
} from './supervisor.ts'

/** A process in memory. What it says and hears is cloned, as a real border does. */
function createChild(pid: number, obedient: boolean) {
  let say: (message: FromService) => void = () => {}
  let leave: ((how: string) => void) | null = null
  const heard: ToService[] = []
  const signals: string[] = []
  const child: Child = {
    pid,
    post(message) {
      if (leave === null) throw new Error('posted to a dead process')
      heard.push(structuredClone(message))
      if (message.kind === 'stop' && obedient) setTimeout(() => exit('code 0'), 100)
    },
    kill(signal) {
      signals.push(signal)
      if (signal === 'SIGKILL') setTimeout(() => exit('signal SIGKILL'), 1)
    },
    onMessage(listener) {
      say = listener
    },
    onExit(listener) {
      leave = listener
    },
  }
  function exit(how: string): void {
    const told = leave
    leave = null
    told?.(how)
  }
  return {
    child,
    heard,
    signals,
    exit,
    say: (message: FromService) => say(structuredClone(message)),
    phase: (phase: Phase, error?: Problem) =>
      say({ kind: 'snapshot', snapshot: { phase, ...(error && { error }) } as Snapshot }),
    alive: () => leave !== null,
  }
}

function setup({ obedient = true, spawn }: { obedient?: boolean; spawn?: (n: number) => void } = {}) {
  const children: ReturnType<typeof createChild>[] = []
  const launches: Launch[] = []
  const states: SupervisorState[] = []
  const messages: FromService[] = []
  const supervisor = createSupervisor({
    spawn(launch) {
      spawn?.(launches.length)
      expect(children.filter((c) => c.alive())).toEqual([])
      launches.push(launch)
      const born = createChild(1000 + launches.length, obedient)
      children.push(born)
      return born.child
    },
    setTimer(callback, ms) {
      const timer = setTimeout(callback, ms)
      return () => clearTimeout(timer)
    },
    now: Date.now,
    onMessage: (message) => messages.push(message),
    onChange: (state) => states.push(state),
  })
  return { supervisor, children, launches, states, messages, last: () => children.at(-1)! }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const HUNG: Problem = {
  code: 'inference_timeout',
  sentence: 'inference took longer than 60 s and was stopped',
}

describe('start and stop', () => {
  test('start spawns one process, whatever is pressed how often; stop is done when its exit was seen', async () => {
    const { supervisor, children, last } = setup()
    supervisor.start()
    supervisor.start()
    expect(children).toHaveLength(1)
    expect(supervisor.state()).toMatchObject({ phase: 'starting', generation: 1, pid: 1001 })
    last().phase('ready')
    expect(supervisor.state().phase).toBe('ready')
    let done = false
    const stopping = supervisor.stop().then(() => {
      done = true
    })
    expect(supervisor.state().phase).toBe('stopping')
    await vi.advanceTimersByTimeAsync(50)
    expect(done).toBe(false)
    await vi.advanceTimersByTimeAsync(60)
    await stopping
    expect(supervisor.state()).toMatchObject({ phase: 'stopped', restarts: 0 })
    expect(last().heard).toEqual([{ kind: 'stop' }])
    expect(last().signals).toEqual([])
    await vi.advanceTimersByTimeAsync(100_000)
    expect(children).toHaveLength(1)
  })

  test('a process that ignores stop is killed, and only then reported stopped', async () => {
    const { supervisor, last } = setup({ obedient: false })
    supervisor.start()
    const stopping = supervisor.stop()
    await vi.advanceTimersByTimeAsync(KILL_MS - 1)
    expect(last().signals).toEqual([])
    expect(supervisor.state().phase).toBe('stopping')
    await vi.advanceTimersByTimeAsync(5)
    await stopping
    expect(last().signals).toEqual(['SIGKILL'])
    expect(supervisor.state().phase).toBe('stopped')
  })

  test('the latest of start and stop wins; two processes never live together', async () => {
    const { supervisor, children, launches } = setup()
    supervisor.start()
    void supervisor.stop()
    supervisor.start()
    void supervisor.stop()
    supervisor.start()
    expect(children).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(children).toHaveLength(2)
    expect(launches[1]).toEqual({ generation: 2 })
    expect(supervisor.state()).toMatchObject({ phase: 'starting', generation: 2 })
    const stopping = supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
    await stopping
    expect(children).toHaveLength(2)
  })

  test('a stop that a start took over settles', async () => {
    const { supervisor } = setup()
    supervisor.start()
    const stopping = supervisor.stop()
    supervisor.start()
    await stopping
    await vi.advanceTimersByTimeAsync(200)
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
  })

  test('restart replaces the process without counting as a failure', async () => {
    const { supervisor, children, last } = setup()
    supervisor.start()
    last().phase('ready')
    supervisor.restart()
    supervisor.restart()
    await vi.advanceTimersByTimeAsync(150)
    expect(children).toHaveLength(2)
    expect(supervisor.state()).toMatchObject({ restarts: 0, phase: 'starting' })
    expect(supervisor.state().problem).toBeUndefined()
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(150)
  })

  test('start on a process that could not load replaces it', async () => {
    const { supervisor, children, last } = setup()
    supervisor.start()
    last().phase('failed', { code: 'checkpoint_broken', sentence: 'The weights are cut short.' })
    expect(supervisor.state()).toMatchObject({ phase: 'failed', problem: { code: 'checkpoint_broken' } })
    supervisor.start()
    await vi.advanceTimersByTimeAsync(150)
    expect(children).toHaveLength(2)
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(150)
  })
})

describe('failures', () => {
  test('restarts after 1, 2 and 4 s, then fails until Start; the reason travels to the next process', async () => {
    const { supervisor, children, launches, last } = setup()
    supervisor.start()
    for (const [n, delay] of [1000, 2000, 4000].entries()) {
      last().exit('signal SIGSEGV')
      expect(supervisor.state()).toMatchObject({
        phase: 'starting',
        restarts: n + 1,
        retryAt: Date.now() + delay,
      })
      await vi.advanceTimersByTimeAsync(delay - 1)
      expect(children).toHaveLength(n + 1)
      await vi.advanceTimersByTimeAsync(1)
      expect(children).toHaveLength(n + 2)
      expect(launches.at(-1)!.failure?.sentence).toBe('The service stopped unexpectedly (signal SIGSEGV).')
    }
    last().exit('signal SIGSEGV')
    expect(supervisor.state()).toMatchObject({ phase: 'failed', problem: { code: 'service_crashed' } })
    await vi.advanceTimersByTimeAsync(1_000_000)
    expect(children).toHaveLength(4)
    supervisor.start()
    expect(children).toHaveLength(5)
    expect(launches.at(-1)).toEqual({ generation: 5 })
    expect(supervisor.state().problem).toBeUndefined()
    last().exit('code 1')
    expect(supervisor.state().retryAt).toBe(Date.now() + 1000)
    await supervisor.stop()
    expect(supervisor.state().phase).toBe('stopped')
  })

  test('a clean exit nobody asked for is a failure', () => {
    const { supervisor, last } = setup()
    supervisor.start()
    last().phase('ready')
    last().exit('code 0')
    expect(supervisor.state()).toMatchObject({ phase: 'starting', restarts: 1 })
    void supervisor.stop()
  })

  test('sixty seconds of ready clear the count; less does not', async () => {
    const { supervisor, last } = setup()
    supervisor.start()
    last().exit('code 1')
    await vi.advanceTimersByTimeAsync(1000)
    last().phase('ready')
    await vi.advanceTimersByTimeAsync(FORGIVE_MS - 1)
    expect(supervisor.state().restarts).toBe(1)
    last().exit('code 1')
    expect(supervisor.state().retryAt).toBe(Date.now() + 2000)
    await vi.advanceTimersByTimeAsync(2000)
    last().phase('ready')
    last().phase('switching')
    await vi.advanceTimersByTimeAsync(FORGIVE_MS)
    expect(supervisor.state().restarts).toBe(0)
    last().exit('code 1')
    expect(supervisor.state().retryAt).toBe(Date.now() + 1000)
    void supervisor.stop()
  })

  test('a hung process is killed and replaced, and the reason is kept', async () => {
    const { supervisor, launches, last } = setup()
    supervisor.start()
    last().phase('ready')
    last().say({ kind: 'hung', problem: HUNG })
    expect(last().signals).toEqual(['SIGKILL'])
    await vi.advanceTimersByTimeAsync(1)
    expect(supervisor.state()).toMatchObject({ phase: 'starting', problem: HUNG, restarts: 1 })
    await vi.advanceTimersByTimeAsync(1000)
    expect(launches.at(-1)).toEqual({ generation: 2, failure: HUNG })
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
  })

  test('what starting again cannot help is not started again', async () => {
    const { supervisor, children, last } = setup()
    const problem = { code: 'port_in_use', sentence: 'Port 5292 is in use by Docker.' }
    supervisor.start()
    last().say({ kind: 'fatal', problem })
    last().exit('code 3')
    expect(supervisor.state()).toMatchObject({ phase: 'failed', problem })
    await vi.advanceTimersByTimeAsync(100_000)
    expect(children).toHaveLength(1)
  })

  test('the last words of a crash are its reason', () => {
    const { supervisor, last } = setup()
    supervisor.start()
    last().say({ kind: 'crash', problem: { code: 'internal_error', sentence: 'A fault of ours.' } })
    last().exit('code 1')
    expect(supervisor.state().problem?.sentence).toBe('A fault of ours.')
    void supervisor.stop()
  })

  test('a spawn that throws is a failure like any other', async () => {
    const { supervisor, launches } = setup({
      spawn: (n) => {
        if (n === 0 && launchesTried++ < 1) throw new Error('EAGAIN')
      },
    })
    let launchesTried = 0
    supervisor.start()
    expect(supervisor.state().problem?.sentence).toBe('The service could not be started: EAGAIN.')
    await vi.advanceTimersByTimeAsync(1000)
    expect(launches).toHaveLength(1)
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
  })

  test('words of an older process are dropped', async () => {
    const { supervisor, children, messages, last } = setup()
    supervisor.start()
    const old = last()
    old.exit('code 1')
    await vi.advanceTimersByTimeAsync(1000)
    const before = messages.length
    old.phase('ready')
    old.say({ kind: 'hung', problem: HUNG })
    expect(supervisor.state().phase).toBe('starting')
    expect(messages).toHaveLength(before)
    expect(children[1]!.signals).toEqual([])
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
  })
})

describe('commands', () => {
  test('each answer finds its question', async () => {
    const { supervisor, last } = setup()
    supervisor.start()
    const first = supervisor.command({ kind: 'recheck' })
    const second = supervisor.command({ kind: 'clearRecents' })
    const ids = last().heard.map((m) => (m.kind === 'command' ? m.id : -1))
    last().say({ kind: 'result', id: ids[1]!, result: { ok: true, data: 'second' } })
    last().say({ kind: 'result', id: ids[0]!, result: { ok: true, data: 'first' } })
    expect(await first).toEqual({ ok: true, data: 'first' })
    expect(await second).toEqual({ ok: true, data: 'second' })
    void supervisor.stop()
    await vi.advanceTimersByTimeAsync(200)
  })

  test('without a process, or when it ends, a sentence instead of silence', async () => {
    const { supervisor, last } = setup()
    const gone = { ok: false, error: { code: 'service_not_running' } }
    expect(await supervisor.command({ kind: 'recheck' })).toMatchObject(gone)
    supervisor.start()
    const asked = supervisor.command({ kind: 'recheck' })
    last().exit('signal SIGABRT')
    expect(await asked).toMatchObject(gone)
    await supervisor.stop()
    expect(supervisor.post({ kind: 'looking', visible: true })).toBe(false)
  })
})
