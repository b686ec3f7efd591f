import { describe, expect, it } from 'vitest'
import { deviceTitle, type Evidence, isDeviceMismatch, PROBE_LIMIT, reportDevice } from './device.ts'

const base: Evidence = {
  requested: 'auto',
  requireDevice: false,
  engine: 'coreml',
  precision: 'float16',
  units: 'gpu',
  assigned: true,
  probe: { ratio: 0.4 },
  choice: 'fastest of 3',
}
const without = <K extends keyof Evidence>(...keys: K[]): Evidence => {
  const copy = { ...base }
  for (const key of keys) delete copy[key]
  return copy
}

describe('device report', () => {
  const cases: [string, Evidence, string, string[], RegExp][] = [
    ['assignment and probe', base, 'gpu', ['assignment', 'probe'], /0\.40 of the time/],
    [
      'plan beside them',
      { ...base, plan: { cpu: 0.01, gpu: 0.99, ane: 0 } },
      'gpu',
      ['assignment', 'plan', 'probe'],
      /holds every node/,
    ],
    ['no probe', without('probe'), 'unproven', [], /not timed/],
    [
      'probe at the limit',
      { ...base, probe: { ratio: PROBE_LIMIT } },
      'gpu',
      ['assignment', 'probe'],
      /0\.80/,
    ],
    ['probe too slow', { ...base, probe: { ratio: 0.81 } }, 'unproven', [], /0\.81 of the time/],
    ['probe not a number', { ...base, probe: { ratio: Number.NaN } }, 'unproven', [], /NaN/],
    ['nodes elsewhere', { ...base, assigned: false }, 'unproven', [], /every node/],
    ['a plan alone', { ...without('probe'), plan: { cpu: 0, gpu: 1, ane: 0 } }, 'unproven', [], /not timed/],
    [
      'plan on the CPU',
      { ...base, plan: { cpu: 0.9, gpu: 0.1, ane: 0 } },
      'cpu',
      ['assignment', 'plan'],
      /90 %/,
    ],
    [
      'plan contradicts the flags',
      { ...base, plan: { cpu: 0, gpu: 0, ane: 1 } },
      'unproven',
      [],
      /no plan says/,
    ],
    ['both units, no plan', { ...base, units: 'all' }, 'unproven', [], /no plan says which/],
    [
      'both units, plan says Neural Engine',
      { ...base, units: 'all', plan: { cpu: 0.1, gpu: 0, ane: 0.9 } },
      'ane',
      ['assignment', 'plan', 'probe'],
      /holds every node/,
    ],
    ['Neural Engine flags', { ...base, units: 'ane' }, 'ane', ['assignment', 'probe'], /holds every node/],
    [
      'a profiled run inside the engine',
      { ...base, profile: { engine: 1, others: 0 } },
      'gpu',
      ['assignment', 'profile', 'probe'],
      /holds/,
    ],
    [
      'a profiled run outside it',
      { ...base, profile: { engine: 1, others: 4 } },
      'unproven',
      [],
      /4 steps outside/,
    ],
    [
      'WebGPU on a software driver',
      { ...base, engine: 'webgpu', probe: { ratio: 30 } },
      'unproven',
      [],
      /WebGPU/,
    ],
    ['CPU-only units', { ...base, units: 'none' }, 'unproven', [], /./],
    [
      'the CPU engine',
      { ...base, engine: 'cpu', units: 'none', precision: 'int8' },
      'cpu',
      ['assignment'],
      /CPU/,
    ],
  ]
  it.each(cases)('%s', (_name, evidence, active, proof, why) => {
    const report = reportDevice(evidence)
    expect(report.active).toBe(active)
    expect(report.proof).toEqual(proof)
    expect(report.why).toMatch(why)
    expect(report.why).toMatch(/^Fastest of 3; .*\.$/)
  })

  it('never says gpu or ane without assignment and probe, whatever the evidence', () => {
    const flags = [true, false]
    for (const engine of ['cpu', 'coreml', 'coreml-native', 'webgpu'] as const)
      for (const units of ['none', 'gpu', 'ane', 'all'] as const)
        for (const assigned of flags)
          for (const ratio of [0, 0.5, 0.9, Number.NaN, undefined])
            for (const plan of [undefined, { cpu: 1, gpu: 0, ane: 0 }, { cpu: 0, gpu: 0.5, ane: 0.5 }]) {
              const evidence: Evidence = { ...without('probe'), engine, units, assigned }
              if (ratio !== undefined) evidence.probe = { ratio }
              if (plan !== undefined) evidence.plan = plan
              const { active, proof } = reportDevice(evidence)
              if (active !== 'gpu' && active !== 'ane') continue
              expect(proof).toContain('assignment')
              expect(proof).toContain('probe')
              expect(engine).not.toBe('cpu')
              expect(ratio).toBeLessThanOrEqual(PROBE_LIMIT)
            }
  })

  it('carries the figures it was given and no others', () => {
    const report = reportDevice({ ...base, partitions: 1, nodeShare: 1, compileMs: 5210, cacheHit: true })
    expect(report).toMatchObject({ partitions: 1, nodeShare: 1, compileMs: 5210, cacheHit: true })
    expect(Object.keys(reportDevice(base))).not.toContain('partitions')
  })

  it('names a mismatch', () => {
    const proven = reportDevice(base)
    expect(isDeviceMismatch(proven)).toBe(false)
    expect(isDeviceMismatch({ ...proven, requested: 'coreml' })).toBe(false)
    expect(isDeviceMismatch({ ...proven, requested: 'webgpu' })).toBe(true)
    expect(isDeviceMismatch({ ...proven, requested: 'coreml', active: 'unproven' })).toBe(true)
    expect(isDeviceMismatch({ ...proven, requested: 'coreml', active: 'cpu' })).toBe(true)
    expect(isDeviceMismatch({ ...proven, requested: 'cpu', engine: 'cpu', active: 'cpu' })).toBe(false)
  })

  it.each([
    ['coreml', 'gpu', 'GPU (Core ML)'],
    ['coreml-native', 'ane', 'Neural Engine (Core ML)'],
    ['coreml', 'unproven', 'Core ML (device not proven)'],
    ['coreml', 'cpu', 'CPU (Core ML)'],
    ['webgpu', 'gpu', 'GPU (WebGPU)'],
    ['webgpu', 'unproven', 'WebGPU (device not proven)'],
    ['cpu', 'cpu', 'CPU'],
  ] as const)('titles %s %s', (engine, active, title) => {
    expect(deviceTitle({ engine, active })).toBe(title)
  })
})
