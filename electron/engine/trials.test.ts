import { describe, expect, it } from 'vitest'
import type { Pass } from '../../models/pass.ts'
import type { EngineSpec } from './engine.ts'
import { createFakeEngine, type Faults } from './fake.ts'
import { forkTrial, runTrial, type TrialOptions } from './trials.ts'

const spec: EngineSpec = {
  engine: 'cpu',
  profile: 'cpu-fp32',
  precision: 'float32',
  checkpointFolder: '',
  workFolder: '',
}
const pass = (seed: number): Pass => ({
  length: 8,
  selected: 3,
  rows: [{ ids: Int32Array.of(1, seed, 2, 3, 40, 3, 41, 2), markers: Int32Array.of(3, 5), type: 0 }],
  index: [0],
})
const passes = [pass(1), pass(2), pass(3)]

function attempt(faults: Faults, options: TrialOptions = {}) {
  const entry = new URL('./fake-trial.ts', import.meta.url)
  const start = () => forkTrial(entry, { LAYA_FAULTS: JSON.stringify(faults) })
  return runTrial(
    {
      kind: 'engine',
      spec,
      passes,
      timings: [{ name: 'short', passes: [pass(1)], samples: 3, budgetMs: 1e6 }],
    },
    start,
    options,
  )
}

describe('trial', () => {
  it('answers every pass and times what was asked', async () => {
    const seen: number[] = []
    const outcome = await attempt({}, { onProgress: (answered) => seen.push(answered) })
    expect(outcome.kind).toBe('finished')
    if (outcome.kind !== 'finished') return
    const expected = await Promise.all(
      passes.map(async (one) => (await createFakeEngine(spec).run(one)).rows),
    )
    expect(outcome.rows).toEqual(expected)
    expect(outcome.timings.get('short')).toHaveLength(3)
    expect(seen).toContain(3)
  })

  it('survives a crash in the middle', async () => {
    expect(await attempt({ crashOnRun: 2 })).toMatchObject({
      kind: 'failed',
      how: 'crashed',
      during: 'check',
      answered: 1,
      detail: 'exit code 1',
    })
  })

  it('survives an engine that never returns', async () => {
    const outcome = await attempt(
      { hangOnRun: 3, hangMs: 4000 },
      { limits: { openMs: 20_000, silenceMs: 700 } },
    )
    expect(outcome).toMatchObject({ kind: 'failed', how: 'hung', during: 'check', answered: 2 })
  })

  it('brings an error across with its cause', async () => {
    expect(await attempt({ throwOnRun: 3 })).toMatchObject({
      how: 'threw',
      answered: 2,
      error: { code: 'inference_failed', cause: 'fault on purpose' },
    })
    expect(await attempt({ failToOpen: 'no adapter' })).toMatchObject({
      how: 'threw',
      during: 'open',
      error: { code: 'engine_unavailable', sentence: 'no adapter' },
    })
  })

  it('tells an entry that cannot start from an engine that fails', async () => {
    const start = () => forkTrial(new URL('./no-such-trial.ts', import.meta.url))
    const outcome = await runTrial({ kind: 'engine', spec, passes, timings: [] }, start)
    expect(outcome).toMatchObject({ kind: 'failed', how: 'crashed', during: 'open' })
    expect(outcome).toMatchObject({ stderr: expect.stringContaining('no-such-trial') })
  })

  it('stops when the caller does', async () => {
    const stop = new AbortController()
    const outcome = attempt({ slowMs: 5000 }, { signal: stop.signal })
    setTimeout(() => stop.abort(new Error('stopping')), 300)
    await expect(outcome).rejects.toThrow('stopping')
    await expect(attempt({}, { signal: stop.signal })).rejects.toThrow('stopping')
  })
})
