import type { Evidence } from '../domain/device.ts'
import type { ComputePlan } from './native.ts'

/** What the Core ML provider says about itself on stderr when its session is created. */
export interface PartitionLog {
  partitions: number
  nodeShare: number
}

/**
 * Reads the provider's summary: "number of partitions supported by CoreML: 1 number of nodes in the graph: N number of
 * nodes supported by CoreML: N". Several sessions print one each; the worst is returned, so that one bad length shows.
 */
export function parsePartitionLog(stderr: string): PartitionLog | undefined {
  const pattern =
    /number of partitions supported by CoreML: (\d+) number of nodes in the graph: (\d+) number of nodes supported by CoreML: (\d+)/g
  let worst: PartitionLog | undefined
  for (const [, partitions, nodes, supported] of stderr.matchAll(pattern)) {
    const share = Number(nodes) === 0 ? 0 : Number(supported) / Number(nodes)
    worst = {
      partitions: Math.max(worst?.partitions ?? 0, Number(partitions)),
      nodeShare: Math.min(worst?.nodeShare ?? 1, share),
    }
  }
  return worst
}

/** Provider names in profiles and assignments. */
export const PROVIDERS = {
  cpu: 'CPUExecutionProvider',
  coreml: 'CoreMLExecutionProvider',
  'coreml-native': 'CoreMLExecutionProvider',
  webgpu: 'WebGpuExecutionProvider',
} as const

/** Counts the kernel events of a profile by owner. Throws SyntaxError when the file was cut off. */
export function countKernels(profile: string, provider: string): NonNullable<Evidence['profile']> {
  const events = JSON.parse(profile) as { cat?: string; name?: string; args?: { provider?: string } }[]
  const kernels = events.filter(({ cat, name }) => cat === 'Node' && name?.endsWith('_kernel_time'))
  const own = kernels.filter(({ args }) => args?.provider === provider).length
  return { engine: own, others: kernels.length - own }
}

/** Shares of the planned cost by device; undefined when the plan prices nothing. */
export function planShares({ devices }: ComputePlan): Evidence['plan'] {
  const shares = { cpu: 0, gpu: 0, ane: 0 }
  let total = 0
  for (const { device, cost } of devices) {
    if (device === 'none') continue
    shares[device] += cost
    total += cost
  }
  if (!(total > 0)) return undefined
  return { cpu: shares.cpu / total, gpu: shares.gpu / total, ane: shares.ane / total }
}

/**
 * The timing probe: median of the accelerated session over the median of a CPU-only one, same graph and length.
 * Undefined when either was not timed.
 */
export function probeRatio(
  acceleratedMs: readonly number[] = [],
  cpuOnlyMs: readonly number[] = [],
): Evidence['probe'] {
  const [fast, slow] = [median(acceleratedMs), median(cpuOnlyMs)]
  return fast === undefined || slow === undefined || slow <= 0 ? undefined : { ratio: fast / slow }
}

export function median(values: readonly number[]): number | undefined {
  const ascending = values.toSorted((a, b) => a - b)
  const middle = Math.floor(ascending.length / 2)
  if (ascending.length % 2 === 1) return ascending[middle]
  return ascending.length === 0 ? undefined : (ascending[middle - 1]! + ascending[middle]!) / 2
}
