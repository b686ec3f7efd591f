import { describe, expect, test } from 'vitest'
import type { Notice, Phase, Snapshot } from '../contract.ts'
import { sampleCheckpoint, sampleSnapshot } from './sample.ts'
import { type Item, renderTray, type Shape } from './tray.ts'

const warning: Notice = { id: 'n', level: 'warning', sentence: 'Serving on the CPU.', at: 1 }

function items(snapshot: Snapshot): Item[] {
  return renderTray(snapshot).menu.flat()
}

function item(snapshot: Snapshot, label: string | RegExp): Item {
  const found = items(snapshot)
    .flatMap((one) => [one, ...(one.submenu ?? [])])
    .filter((one) => (typeof label === 'string' ? one.label === label : label.test(one.label)))
  expect(found, `${label}`).toHaveLength(1)
  return found[0]!
}

describe('shape', () => {
  test.each<[Phase, Shape]>([
    ['stopped', 'off'],
    ['unloaded', 'off'],
    ['starting', 'loading'],
    ['loading', 'loading'],
    ['warming', 'loading'],
    ['draining', 'loading'],
    ['stopping', 'loading'],
    ['ready', 'ready'],
    ['switching', 'busy'],
    ['failed', 'failed'],
  ])('%s is %s', (phase, shape) => {
    expect(renderTray(sampleSnapshot({ phase })).shape).toBe(shape)
  })

  test('work in hand and warnings mark the icon, plain news do not', () => {
    const { load } = sampleSnapshot()
    expect(renderTray(sampleSnapshot({ load: { ...load, inFlight: 1 } })).shape).toBe('busy')
    expect(renderTray(sampleSnapshot({ load: { ...load, queued: 2 } })).shape).toBe('busy')
    expect(renderTray(sampleSnapshot({ notices: [warning] })).shape).toBe('busy')
    expect(renderTray(sampleSnapshot({ notices: [{ ...warning, level: 'info' }] })).shape).toBe('ready')
  })
})

describe('tool tip', () => {
  test.each([
    [{}, 'Ready · english · GPU (Core ML) · 8.4 ms'],
    [{ latency: { ...sampleSnapshot().latency, p50: 123.6 } }, 'Ready · english · GPU (Core ML) · 124 ms'],
    [{ latency: { ...sampleSnapshot().latency, p50: 0 } }, 'Ready · english · GPU (Core ML)'],
    [{ phase: 'loading' as const }, 'Loading · english'],
    [{ phase: 'stopped' as const }, 'Off'],
    [{ phase: 'unloaded' as const }, 'Nothing loaded'],
    [
      { device: { ...sampleSnapshot().device!, active: 'unproven' as const } },
      'Ready · english · Core ML (device not proven) · 8.4 ms',
    ],
  ])('%#: %j', (patch, expected) => {
    expect(renderTray(sampleSnapshot(patch)).tooltip).toBe(expected)
  })
})

describe('menu', () => {
  test('ready: the order and words of the product', () => {
    expect(renderTray(sampleSnapshot()).menu.map((group) => group.map(({ label }) => label))).toEqual([
      ['Serving at 127.0.0.1:5292'],
      ['Stop serving'],
      ['Copy URL', 'Copy curl'],
      ['Checkpoint'],
      ['Open panel', 'Run benchmark…', 'Open logs'],
      ['Open at login'],
      ['About Laya Bar', 'Quit Laya Bar'],
    ])
  })

  test('the header cannot be clicked and says what happens', () => {
    expect(items(sampleSnapshot())[0]).not.toHaveProperty('act')
    const loading = sampleSnapshot({ phase: 'loading', progress: 'Loading english, 62 %' })
    expect(items(loading)[0]!.label).toBe('Loading english, 62 %')
    expect(items(sampleSnapshot({ phase: 'stopped', endpoint: undefined }))[0]!.label).toBe('Off')
    expect(items(sampleSnapshot({ phase: 'unloaded' }))[0]!.label).toBe(
      'Nothing loaded · listening at 127.0.0.1:5292',
    )
  })

  test('a failure is told in its own sentence, with its remedy as an item', () => {
    const command = { kind: 'settings', patch: { port: 5293 } } as const
    const failed = sampleSnapshot({
      phase: 'failed',
      endpoint: undefined,
      error: {
        code: 'port_in_use',
        sentence: 'Port 5292 is in use by Docker.',
        remedy: { label: 'Use port 5293', command },
      },
    })
    expect(items(failed)[0]!.label).toBe('Port 5292 is in use by Docker.')
    expect(item(failed, 'Use port 5293').act).toEqual(command)
    expect(item(failed, 'Start serving').act).toEqual({ kind: 'start' })
    expect(item(failed, 'Copy URL')).not.toHaveProperty('act')
  })

  test('a long sentence is cut in the menu and whole in the tool tip', () => {
    const sentence = `Core ML failed the check: ${'many answers differ, '.repeat(6)}so it is not used.`
    const [header] = items(sampleSnapshot({ phase: 'failed', error: { code: 'x', sentence } }))
    expect(header!.label.length).toBeLessThanOrEqual(72)
    expect(header!.label.endsWith('…')).toBe(true)
    expect(header!.toolTip).toBe(sentence)
  })

  test('open at login shows the state and asks for the other one', () => {
    const { settings } = sampleSnapshot()
    expect(item(sampleSnapshot(), 'Open at login')).toMatchObject({
      checked: false,
      act: { kind: 'settings', patch: { openAtLogin: true } },
    })
    const on = sampleSnapshot({ settings: { ...settings, openAtLogin: true } })
    expect(item(on, 'Open at login')).toMatchObject({
      checked: true,
      act: { kind: 'settings', patch: { openAtLogin: false } },
    })
  })

  test('a benchmark needs something to measure, and a running one can be cancelled', () => {
    expect(item(sampleSnapshot(), 'Run benchmark…').act).toEqual({ kind: 'benchmark', mode: 'quick' })
    expect(item(sampleSnapshot({ phase: 'stopped' }), 'Run benchmark…')).not.toHaveProperty('act')
    const running = sampleSnapshot({ benchmark: { state: 'running', step: 'Warm-up', percent: 4 } })
    expect(item(running, 'Cancel benchmark').act).toEqual({ kind: 'cancelBenchmark' })
  })
})

describe('checkpoints', () => {
  const names = (snapshot: Snapshot) => item(snapshot, 'Checkpoint').submenu!

  test('the resident one is ticked, installed ones are one click away, the others open the panel', () => {
    expect(names(sampleSnapshot())).toEqual([
      { label: 'laya-demo (demo)', act: { kind: 'use', checkpoint: 'laya-demo' } },
      { label: 'english (resident)', checked: true },
      { label: 'Install multilingual… 644 MB', act: { kind: 'showPanel' } },
    ])
  })

  test('while nothing is served, a choice is kept for the next start', () => {
    expect(names(sampleSnapshot({ phase: 'stopped' }))[0]).toEqual({
      label: 'laya-demo (demo)',
      checked: false,
      act: { kind: 'settings', patch: { checkpoint: 'laya-demo' } },
    })
  })

  test.each([
    [
      { state: 'downloading', progress: { done: 41, total: 100, perSecond: 1, etaMs: 1 } },
      'Downloading english… 41 %',
    ],
    [{ state: 'downloading' }, 'Downloading english…'],
    [
      { state: 'verifying', progress: { done: 0, total: 0, perSecond: 0, etaMs: null } },
      'Verifying english…',
    ],
    [{ state: 'preparing' }, 'Preparing english…'],
    [{ state: 'loading' }, 'Loading english…'],
    [
      { state: 'paused', progress: { done: 99.9, total: 100, perSecond: 0, etaMs: null } },
      'Resume english 99 %',
    ],
    [{ state: 'available', bytes: 1_643_000_000 }, 'Install english… 1.6 GB'],
    [{ state: 'broken', error: { code: 'x', sentence: 'No weights.' } }, 'english: cannot be used'],
  ] as const)('%j', (patch, label) => {
    expect(names(sampleSnapshot({ checkpoints: [sampleCheckpoint(patch)] }))[0]!.label).toBe(label)
  })

  test('a second resident one can be made the first', () => {
    const checkpoints = [sampleCheckpoint({ name: 'multilingual', state: 'resident' })]
    expect(names(sampleSnapshot({ checkpoints }))).toEqual([
      { label: 'multilingual (resident)', checked: false, act: { kind: 'use', checkpoint: 'multilingual' } },
    ])
  })
})
