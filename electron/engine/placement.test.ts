import { describe, expect, it } from 'vitest'
import { countKernels, median, PROVIDERS, parsePartitionLog, planShares, probeRatio } from './placement.ts'

const line = (partitions: number, nodes: number, supported: number) =>
  `2026-09-01 [I:onnxruntime:, coreml_execution_provider.cc:96] CoreMLExecutionProvider::GetCapability, number of partitions supported by CoreML: ${partitions} number of nodes in the graph: ${nodes} number of nodes supported by CoreML: ${supported}\n`

describe('placement', () => {
  it('reads partitions from the log, the worst of several sessions', () => {
    expect(parsePartitionLog(line(1, 1204, 1204))).toEqual({ partitions: 1, nodeShare: 1 })
    expect(parsePartitionLog(`noise\n${line(1, 1204, 1204)}${line(3, 1000, 750)}`)).toEqual({
      partitions: 3,
      nodeShare: 0.75,
    })
    expect(parsePartitionLog('nothing of the kind')).toBeUndefined()
    expect(parsePartitionLog(line(0, 0, 0))).toEqual({ partitions: 0, nodeShare: 0 })
  })

  it('counts kernels by owner and nothing else', () => {
    const event = (provider: string, name = 'CoreML_0_kernel_time', cat = 'Node') => ({
      cat,
      name,
      args: { provider },
    })
    const profile = JSON.stringify([
      { cat: 'Session', name: 'model_run', args: {} },
      event(PROVIDERS.coreml),
      event(PROVIDERS.coreml, 'CoreML_0_fence_before'),
      event(PROVIDERS.cpu, 'Gather_kernel_time'),
      event(PROVIDERS.cpu, 'Api_kernel_time', 'Api'),
    ])
    expect(countKernels(profile, PROVIDERS.coreml)).toEqual({ engine: 1, others: 1 })
    expect(() => countKernels(profile.slice(0, -3), PROVIDERS.coreml)).toThrow(SyntaxError)
  })

  it('weighs a plan by cost and leaves unplaced operations out', () => {
    const devices = [
      { device: 'gpu' as const, cost: 0.6, operations: 900 },
      { device: 'cpu' as const, cost: 0.2, operations: 20 },
      { device: 'none' as const, cost: 0.2, operations: 5 },
    ]
    const shares = planShares({ devices, cpuOperators: [] })
    expect(shares).toEqual({ cpu: expect.closeTo(0.25, 12), gpu: expect.closeTo(0.75, 12), ane: 0 })
    expect(planShares({ devices: [], cpuOperators: [] })).toBeUndefined()
  })

  it('compares medians', () => {
    expect(probeRatio([4, 5, 90], [10, 11, 9])).toEqual({ ratio: 0.5 })
    expect(probeRatio([4], [])).toBeUndefined()
    expect(probeRatio(undefined, [1])).toBeUndefined()
    expect(probeRatio([1], [0])).toBeUndefined()
    expect(median([])).toBeUndefined()
    expect(median([3, 1])).toBe(2)
  })
})
