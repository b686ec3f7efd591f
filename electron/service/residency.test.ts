import { describe, expect, test } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import { createRandom } from '../../models/random.ts'
import type { Notice, Problem } from '../contract.ts'
import { DEFAULT_SETTINGS, type StoredSettings } from '../domain/settings.ts'
import { askCanary } from './canary.ts'
import {
  cpuChoice,
  cpuPolicy,
  createDoubleStore,
  createDoubleThread,
  type DoubleThread,
} from './double-store.ts'
import { createLog } from './log.ts'
import { createResidency, type ManagedResidency, type ResidencyParts, type Resident } from './residency.ts'

interface Options {
  names?: string[]
  settings?: Partial<StoredSettings>
  open?: (name: string) => Promise<void>
  policy?: ResidencyParts['policy']
  prove?: () => Promise<void>
  rssMb?: () => number
  memoryMb?: number
}

function setup(options: Options = {}) {
  const store = createDoubleStore(options.names ?? ['a', 'b', 'c'])
  const threads: DoubleThread[] = []
  const notices: Omit<Notice, 'at'>[] = []
  const hung: Problem[] = []
  const selections: string[] = []
  const fallbacks: string[] = []
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  let time = 1_000_000
  let restarts = 0
  const residency = createResidency({
    store,
    policy: options.policy ?? cpuPolicy,
    openThread() {
      const thread = createDoubleThread(options.open)
      threads.push(thread)
      return thread
    },
    selected: 'a',
    settings: () => settings,
    prove: options.prove ?? (async () => {}),
    telemetry: {
      engineRestarted: () => {
        restarts++
      },
      engineFellBack: (from, to) => fallbacks.push(`${from} ${to}`),
      mark: () => {},
    },
    log: createLog({ file: null, level: 'debug', now: () => 0 }),
    now: () => time,
    rssMb: options.rssMb ?? (() => 100),
    memoryMb: options.memoryMb ?? 16_000,
    onChange: () => {},
    onNotice: (notice) => notices.push(notice),
    onSelected: (name) => selections.push(name),
    onHung: (problem) => hung.push(problem),
  })
  return {
    residency,
    store,
    settings,
    threads,
    notices,
    hung,
    selections,
    fallbacks,
    restarts: () => restarts,
    alive: () => threads.filter((thread) => !thread.closed).length,
    threadOf: (name: string) => threads.filter((t) => t.name() === name && !t.closed).at(-1)!,
    wait: (ms: number) => {
      time += ms
    },
  }
}

/** Lets every promise that can settle do so. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const ask = ({ engine, encoder }: Resident) => askCanary(engine, encoder)

function refusal(residency: ManagedResidency, name: string | null): LayaError {
  try {
    residency.lease(name).release()
  } catch (error) {
    if (error instanceof LayaError) return error
    throw error
  }
  throw new Error('a lease was given')
}

/** A gate that a load waits at. */
function createGate() {
  let open: () => void = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open: () => open() }
}

describe('start', () => {
  test('loading, warming, ready; requests before that are told how far it is', async () => {
    const gate = createGate()
    const { residency } = setup({ open: () => gate.promise })
    expect(residency.state().phase).toBe('starting')
    const begun = residency.begin()
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'loading', loaded: [], preparing: ['a'], selected: 'a' })
    const error = refusal(residency, null)
    expect(error.code).toBe('not_ready')
    expect(error.details).toMatchObject({ retryAfter: 2, extras: { phase: 'loading' } })
    gate.open()
    await begun
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a'], preparing: [] })
    const { resident, release } = residency.lease('a-alias')
    expect(resident.name).toBe('a')
    expect(await ask(resident)).toHaveLength(3)
    release()
    await residency.close()
  })

  test('a checkpoint that is not installed, is broken or cannot be loaded ends in failed, with its own sentence', async () => {
    const missing = setup({ names: ['b'] })
    await missing.residency.begin()
    expect(missing.residency.state().problem?.code).toBe('checkpoint_not_installed')
    const broken = setup()
    broken.store.spoil('a', 'model.safetensors: the file is cut short.')
    await broken.residency.begin()
    expect(broken.residency.state()).toMatchObject({
      phase: 'failed',
      problem: { code: 'checkpoint_unusable', sentence: 'model.safetensors: the file is cut short.' },
    })
    expect(refusal(broken.residency, null).message).toBe('model.safetensors: the file is cut short')
    const failing = setup({
      open: async () => {
        throw new LayaError('engine_unavailable', 'The network could not be loaded.')
      },
    })
    await failing.residency.begin()
    expect(failing.residency.state().problem?.sentence).toBe('The network could not be loaded.')
    expect(failing.alive()).toBe(0)
    const unreachable = setup({
      prove: async () => {
        throw new LayaError('port_in_use', 'Another program answers at [::1]:5292.')
      },
    })
    await unreachable.residency.begin()
    expect(unreachable.residency.state()).toMatchObject({ phase: 'failed', problem: { code: 'port_in_use' } })
    expect(unreachable.residency.state().loaded).toEqual([])
  })

  test('after a failure another checkpoint can be chosen', async () => {
    const { residency, store, selections } = setup()
    store.spoil('a', 'Broken.')
    await residency.begin()
    await residency.use('b')
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['b'], selected: 'b' })
    expect(residency.state().problem).toBeUndefined()
    expect(selections).toEqual(['b'])
  })

  test('choosing another one while the first still loads', async () => {
    const gate = createGate()
    const { residency, alive } = setup({ open: (name) => (name === 'a' ? gate.promise : Promise.resolve()) })
    const begun = residency.begin()
    await settle()
    const used = residency.use('b')
    await settle()
    gate.open()
    await Promise.all([begun, used])
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['b'], selected: 'b' })
    expect(alive()).toBe(1)
  })
})

describe('switching', () => {
  test('the old one serves until the new one is warm, running requests finish on it, then its thread ends', async () => {
    const gate = createGate()
    const { residency, alive } = setup({ open: (name) => (name === 'b' ? gate.promise : Promise.resolve()) })
    await residency.begin()
    const held = residency.lease(null)
    const used = residency.use('b')
    await settle()
    expect(residency.state()).toMatchObject({
      phase: 'switching',
      loaded: ['a'],
      preparing: ['b'],
      selected: 'a',
    })
    const during = residency.lease(null)
    expect(during.resident.name).toBe('a')
    during.release()
    gate.open()
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['b'], selected: 'b' })
    expect(residency.lease(null).resident.name).toBe('b')
    expect(await ask(held.resident)).toHaveLength(3)
    expect(alive()).toBe(2)
    held.release()
    held.release()
    await used
    expect(alive()).toBe(1)
  })

  test('when the new one cannot be loaded the old one stays', async () => {
    const { residency, selections } = setup({
      open: async (name) => {
        if (name === 'b') throw new LayaError('engine_unavailable', 'No.')
      },
    })
    await residency.begin()
    await expect(residency.use('b')).rejects.toThrow('No.')
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a'], selected: 'a' })
    expect(selections).toEqual([])
    await expect(residency.use('nowhere')).rejects.toThrow('not installed')
  })

  test('without room for both the old one goes first, and says so', async () => {
    const { residency, notices, alive } = setup({ settings: { memoryLimitMb: 150 } })
    await residency.begin()
    await residency.use('b')
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['b'], selected: 'b' })
    expect(notices.map((n) => n.id)).toEqual(['switch-gap'])
    expect(alive()).toBe(1)
  })
})

describe('second resident', () => {
  test('a request that names an installed checkpoint loads it beside; the selected one keeps answering', async () => {
    const { residency } = setup({ settings: { secondResident: true } })
    await residency.begin()
    expect(refusal(residency, 'b').code).toBe('not_ready')
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a', 'b'], selected: 'a' })
    expect(residency.lease('b').resident.name).toBe('b')
    expect(residency.lease(null).resident.name).toBe('a')
    await residency.use('b')
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['b', 'a'], selected: 'b' })
  })

  test('without leave to load, or without a second place, it is refused with the remedy', async () => {
    const one = setup()
    await one.residency.begin()
    expect(refusal(one.residency, 'b')).toMatchObject({ code: 'model_not_loaded' })
    expect(refusal(one.residency, 'b').message).toContain('allow a second resident checkpoint')
    const none = setup({ settings: { loadOnDemand: false, secondResident: true } })
    await none.residency.begin()
    expect(refusal(none.residency, 'b').message).toContain('turn on loading on demand')
    expect(refusal(none.residency, 'zebra').code).toBe('unknown_model')
  })

  test('the least used one makes room', async () => {
    let loads = 0
    const { residency, wait } = setup({
      settings: { secondResident: true, memoryLimitMb: 290 },
      // Each loaded checkpoint takes 80 MB: two fit.
      rssMb: () => 20 + 80 * loads,
      open: async () => {},
    })
    const count = () => {
      loads = residency.state().loaded.length
    }
    await residency.begin()
    count()
    refusal(residency, 'b')
    await settle()
    count()
    expect(residency.state().loaded).toEqual(['a', 'b'])
    wait(1000)
    residency.lease('b').release()
    loads = 3
    refusal(residency, 'c')
    await settle()
    // Still too much after `b` went: `c` is not loaded, and that is said.
    expect(residency.state().loaded).toEqual(['a'])
  })
})

describe('unloading', () => {
  test('unload waits for running requests and is not ready afterwards; a request loads again', async () => {
    const { residency, alive } = setup()
    await residency.begin()
    const held = residency.lease(null)
    const unloaded = residency.unload('a')
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'unloaded', loaded: [] })
    expect(alive()).toBe(1)
    held.release()
    await unloaded
    expect(alive()).toBe(0)
    const error = refusal(residency, null)
    expect(error.code).toBe('not_ready')
    expect(error.message).toContain('was unloaded to free its memory')
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a'] })
  })

  test('idle unload after the chosen time, never under a lease', async () => {
    const { residency, settings, wait } = setup({ settings: { idleUnloadSeconds: 60, loadOnDemand: false } })
    await residency.begin()
    const held = residency.lease(null)
    wait(120_000)
    residency.tick()
    await settle()
    expect(residency.state().phase).toBe('ready')
    held.release()
    wait(59_000)
    residency.tick()
    await settle()
    expect(residency.state().phase).toBe('ready')
    wait(1000)
    residency.tick()
    residency.tick()
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'unloaded', loaded: [] })
    expect(refusal(residency, null).code).toBe('model_not_loaded')
    settings.idleUnloadSeconds = 0
    await residency.use('a')
    wait(10_000_000)
    residency.tick()
    expect(residency.state().phase).toBe('ready')
  })

  test('the checkpoint in use cannot be taken away, others are unloaded first', async () => {
    const { residency, alive } = setup({ settings: { secondResident: true } })
    await residency.begin()
    refusal(residency, 'b')
    await settle()
    await expect(residency.release('a')).rejects.toMatchObject({ code: 'checkpoint_locked' })
    await residency.release('b')
    expect(residency.state().loaded).toEqual(['a'])
    expect(alive()).toBe(1)
    await residency.close()
    expect(alive()).toBe(0)
    expect(residency.state()).toMatchObject({ phase: 'stopping', loaded: [] })
    expect(refusal(residency, null).message).toBe('the service is stopping')
  })
})

describe('engines that fail', () => {
  test('a dead thread fails what ran on it; the next run waits and gets the new one', async () => {
    const { residency, threadOf, restarts } = setup()
    await residency.begin()
    const { resident } = residency.lease(null)
    const before = await ask(resident)
    const running = ask(resident)
    await new Promise((resolve) => setImmediate(resolve))
    threadOf('a').die()
    await expect(running).rejects.toThrow('ended before it answered')
    expect(residency.state()).toMatchObject({ phase: 'warming', loaded: [] })
    expect(refusal(residency, null).code).toBe('not_ready')
    await settle()
    expect(await ask(resident)).toEqual(before)
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a'] })
    expect(restarts()).toBe(1)
  })

  test('three failures within a minute: the next engine, said aloud; none left: failed with the reason', async () => {
    const policy: ResidencyParts['policy'] = {
      choose: async (installed, avoid) => cpuChoice(installed.name, avoid.size === 0 ? 'webgpu' : 'cpu'),
      improve: async () => null,
    }
    const { residency, threadOf, notices, fallbacks, wait } = setup({ policy })
    await residency.begin()
    const strikes = async (count: number) => {
      for (let n = 0; n < count; n++) {
        threadOf('a').die()
        wait(10_000)
        await settle()
      }
    }
    await strikes(2)
    expect(residency.residents()[0]!.report.engine).toBe('webgpu')
    await strikes(1)
    const [resident] = residency.residents()
    expect(resident!.report).toMatchObject({ engine: 'cpu', active: 'cpu' })
    expect(resident!.report.why).toContain('failed three times within a minute')
    expect(resident!.fallbacks).toMatchObject({ count: 1 })
    expect(fallbacks).toEqual(['webgpu cpu'])
    expect(notices[0]).toMatchObject({ level: 'warning', id: 'fallback-a' })
    await strikes(3)
    expect(residency.state()).toMatchObject({
      phase: 'failed',
      loaded: [],
      problem: { code: 'engine_unavailable' },
    })
  })

  test('failures that are far apart never add up', async () => {
    const { residency, threadOf, wait } = setup()
    await residency.begin()
    for (let n = 0; n < 6; n++) {
      threadOf('a').die()
      wait(31_000)
      await settle()
    }
    expect(residency.state().phase).toBe('ready')
  })

  test('after a sleep nobody is answered before the known question was', async () => {
    const { residency, threadOf, restarts } = setup()
    await residency.begin()
    residency.suspend()
    expect(residency.state()).toMatchObject({ phase: 'warming', loaded: [] })
    expect(refusal(residency, null).code).toBe('not_ready')
    await residency.resume()
    expect(residency.state().phase).toBe('ready')
    expect(restarts()).toBe(0)
    residency.suspend()
    threadOf('a').sicken()
    await residency.resume()
    await settle()
    expect(residency.state()).toMatchObject({ phase: 'ready', loaded: ['a'] })
    expect(restarts()).toBe(1)
  })
})

test('a better engine takes over beside the present one', async () => {
  const gate = createGate()
  let asked = 0
  const policy: ResidencyParts['policy'] = {
    choose: async (installed) => cpuChoice(installed.name),
    improve: async (installed) => {
      if (asked++ > 0) return null
      await gate.promise
      return cpuChoice(installed.name, 'webgpu')
    },
  }
  const { residency, notices, alive } = setup({ policy })
  await residency.begin()
  const held = residency.lease(null)
  gate.open()
  await settle()
  expect(residency.residents()[0]!.report.engine).toBe('webgpu')
  expect(held.resident.report.engine).toBe('cpu')
  expect(await ask(held.resident)).toHaveLength(3)
  held.release()
  await settle()
  expect(alive()).toBe(1)
  expect(notices[0]?.sentence).toBe('Now on GPU (WebGPU) instead of CPU.')
})

test('over 200 random sequences the state tells what the router does', async () => {
  const random = createRandom(20261201)
  const NAMES = ['a', 'b', 'c']
  for (let sequence = 0; sequence < 200; sequence++) {
    const failing = new Set<string>()
    const { residency, store, threadOf, alive, wait } = setup({
      settings: { secondResident: sequence % 2 === 1, loadOnDemand: sequence % 3 !== 0 },
      open: async (name) => {
        if (failing.has(name)) throw new LayaError('engine_unavailable', 'On purpose.')
      },
    })
    await residency.begin()
    const steps: string[] = []
    for (let step = 0; step < 8; step++) {
      const name = random.pick(NAMES)
      const what = random.pick(['use', 'unload', 'fail', 'crash', 'remove', 'add', 'ask', 'heal'])
      steps.push(`${what} ${name}`)
      let running: Promise<unknown> = Promise.resolve()
      if (what === 'use') running = residency.use(name)
      if (what === 'unload') running = residency.unload(name)
      if (what === 'fail') failing.add(name)
      if (what === 'heal') failing.delete(name)
      if (what === 'crash') threadOf(name)?.die()
      if (what === 'remove') running = residency.release(name).then(() => store.delete(name))
      if (what === 'add') store.add(name)
      if (what === 'ask') leasable(residency, name)
      wait(20_000)
      const outcome = running.catch(() => {})
      // In the middle of the step, and after it.
      for (const moment of [0, 1]) {
        const { loaded, phase, selected } = residency.state()
        expect(
          residency.residents().map((r) => r.name),
          steps.join(),
        ).toEqual(loaded)
        if (phase === 'ready' || phase === 'switching') expect(loaded, steps.join()).toContain(selected)
        else expect(loaded, steps.join()).not.toContain(selected)
        // Asking may start a load, which is a step of its own: only what is loaded is asked in the middle.
        for (const each of NAMES)
          if (moment === 1 || loaded.includes(each))
            expect(leasable(residency, each), `${steps.join()}: ${each}`).toBe(loaded.includes(each))
        await outcome
        await settle()
      }
    }
    await residency.close()
    expect(residency.state().loaded).toEqual([])
    expect(alive(), steps.join()).toBe(0)
  }
}, 120_000)

function leasable(residency: ManagedResidency, name: string): boolean {
  try {
    const lease = residency.lease(name)
    expect(lease.resident.name).toBe(name)
    lease.release()
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(LayaError)
    return false
  }
}
