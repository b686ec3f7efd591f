import { describe, expect, test } from 'vitest'
import type { Problem } from '../contract.ts'
import { DEFAULT_SETTINGS, publicSettings } from '../domain/settings.ts'
import type { SupervisorState } from '../domain/supervisor.ts'
import { sampleCheckpoint, sampleSnapshot } from './sample.ts'
import { composeSnapshot, type ShellFacts } from './view.ts'

const crashed: Problem = {
  code: 'service_crashed',
  sentence: 'The service stopped unexpectedly (signal SIGKILL).',
}

function facts(supervisor: Partial<SupervisorState>, patch: Partial<ShellFacts> = {}): ShellFacts {
  return {
    version: '1.0.0',
    supervisor: { phase: 'stopped', since: 5_000, generation: 1, restarts: 0, ...supervisor },
    running: (supervisor.phase ?? 'stopped') !== 'stopped' && supervisor.retryAt === undefined,
    heard: { snapshot: sampleSnapshot(), generation: 1 },
    settings: publicSettings(DEFAULT_SETTINGS),
    openAtLogin: false,
    thermal: 'fair',
    onBattery: true,
    os: 'macOS 15.5',
    notices: [],
    now: 10_000,
    ...patch,
  }
}

describe('while the process lives', () => {
  test('its own words are shown, with what only the shell knows', () => {
    const snapshot = composeSnapshot(facts({ phase: 'ready' }, { openAtLogin: true }))
    expect(snapshot).toMatchObject({ phase: 'ready', since: 1_000, checkpoint: 'english' })
    expect(snapshot.host).toMatchObject({ thermal: 'fair', onBattery: true, chip: 'Apple M2' })
    expect(snapshot.settings.openAtLogin).toBe(true)
    expect(snapshot.endpoint?.port).toBe(5292)
  })

  test('after a restart the reason stays beside the good news', () => {
    const snapshot = composeSnapshot(facts({ phase: 'ready', problem: crashed }))
    expect(snapshot).toMatchObject({ phase: 'ready', error: crashed })
  })

  test('a failure inside the process keeps its own problem', () => {
    const error: Problem = { code: 'checkpoint_unusable', sentence: 'The weights are cut short.' }
    const heard = { snapshot: sampleSnapshot({ phase: 'failed', error }), generation: 1 }
    expect(composeSnapshot(facts({ phase: 'failed' }, { heard }))).toMatchObject({ phase: 'failed', error })
  })

  test('stopping is said by the supervisor, since the process may be past speaking', () => {
    const snapshot = composeSnapshot(facts({ phase: 'stopping' }))
    expect(snapshot.phase).toBe('stopping')
    expect(snapshot.since).toBe(5_000)
    expect(snapshot.progress).toMatch(/^Stopping/)
  })

  test('notices of shell and service stand side by side', () => {
    const ours = { id: 'shell.icon', level: 'info' as const, sentence: 'The icon is hidden.', at: 1 }
    const theirs = { id: 'x', level: 'warning' as const, sentence: 'Serving on the CPU.', at: 1 }
    const heard = { snapshot: sampleSnapshot({ notices: [theirs] }), generation: 1 }
    expect(composeSnapshot(facts({ phase: 'ready' }, { heard, notices: [ours] })).notices).toEqual([
      ours,
      theirs,
    ])
  })
})

describe('without a process', () => {
  test('before the first one there is a snapshot all the same', () => {
    const snapshot = composeSnapshot(facts({ generation: 0 }, { heard: null }))
    expect(snapshot).toMatchObject({
      phase: 'stopped',
      checkpoints: [],
      recents: [],
      checkpoint: 'laya-demo',
    })
    expect(snapshot.host.os).toBe('macOS 15.5')
    expect(snapshot).not.toHaveProperty('endpoint')
    expect(snapshot).not.toHaveProperty('error')
    expect(snapshot).not.toHaveProperty('progress')
  })

  test('stopped: no address, no device, no load; charts and checkpoints stay', () => {
    const { load, ...rest } = sampleSnapshot()
    const running = {
      ...rest,
      load: { ...load, inFlight: 1, queued: 4 },
      benchmark: { state: 'running' as const, step: 'x', percent: 3 },
      recents: [{} as never],
    }
    const snapshot = composeSnapshot(facts({}, { heard: { snapshot: running, generation: 1 } }))
    expect(snapshot).not.toHaveProperty('endpoint')
    expect(snapshot).not.toHaveProperty('device')
    expect(snapshot).not.toHaveProperty('benchmark')
    expect(snapshot.load).toMatchObject({ inFlight: 0, queued: 0 })
    expect(snapshot.recents).toEqual([])
    expect(snapshot.latency.p50).toBe(8.42)
    expect(snapshot.checkpoints.map(({ state }) => state)).toEqual(['installed', 'installed', 'available'])
  })

  test('waiting for a restart: the reason, the seconds left and the count', () => {
    const waiting = { phase: 'starting' as const, retryAt: 11_200, restarts: 2, problem: crashed }
    expect(composeSnapshot(facts(waiting))).toMatchObject({
      phase: 'starting',
      progress: 'Starting again in 2 s (attempt 2 of 3)',
      error: crashed,
    })
    expect(composeSnapshot(facts(waiting))).not.toHaveProperty('endpoint')
  })

  test('a new process has not spoken yet: nothing of the old one passes for live', () => {
    const snapshot = composeSnapshot(facts({ phase: 'starting', generation: 2 }))
    expect(snapshot).toMatchObject({ phase: 'starting', progress: 'Starting the service' })
    expect(snapshot).not.toHaveProperty('endpoint')
  })

  test('given up: failed with the reason', () => {
    const given = facts({ phase: 'failed' as const, problem: crashed }, { running: false })
    expect(composeSnapshot(given)).toMatchObject({ phase: 'failed', error: crashed })
    expect(composeSnapshot(given)).not.toHaveProperty('endpoint')
  })

  test('jobs end with their process, a download keeps what it has', () => {
    const progress = { done: 5, total: 10, perSecond: 3, etaMs: 9 }
    const checkpoints = [
      sampleCheckpoint({ name: 'a', state: 'downloading', progress }),
      sampleCheckpoint({ name: 'b', state: 'verifying', progress, bytesOnDisk: 1 }),
      sampleCheckpoint({ name: 'c', state: 'preparing', progress, bytesOnDisk: 0 }),
      sampleCheckpoint({ name: 'd', state: 'broken' }),
    ]
    const heard = { snapshot: sampleSnapshot({ checkpoints }), generation: 1 }
    const left = composeSnapshot(facts({}, { heard })).checkpoints
    expect(left.map(({ name, state }) => [name, state])).toEqual([
      ['a', 'paused'],
      ['b', 'installed'],
      ['c', 'available'],
      ['d', 'broken'],
    ])
    expect(left[0]!.progress).toEqual({ done: 5, total: 10, perSecond: 0, etaMs: null })
    expect(left[1]).not.toHaveProperty('progress')
  })
})
