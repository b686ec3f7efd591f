import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** A tensor handed to `run`, read in place: it must not be changed until the promise settles. */
export type NativeFeed =
  | { type: 'float32'; dims: number[]; data: Float32Array }
  | { type: 'float16'; dims: number[]; data: Uint16Array }
  | { type: 'int64'; dims: number[]; data: BigInt64Array }
  | { type: 'int32'; dims: number[]; data: Int32Array }

export interface NativeSessionOptions {
  /** Path of the onnxruntime library the npm package ships. */
  library: string
  /** Path of the graph; its external data lies in the same folder. */
  model: string
  /** `cpu`, or a provider name of onnxruntime such as `CoreML`. */
  provider: string
  /** Keyed options of the provider (`MLComputeUnits`, `ModelCacheDirectory` …). An unknown key rejects. */
  providerOptions?: Record<string, string>
  /** Session config entries, for example `session.disable_cpu_ep_fallback`. */
  config?: Record<string, string>
  /** 0 = onnxruntime decides. */
  threads?: number
  /** 0 disabled, 1 basic, 2 extended, 3 layout, 99 all. */
  optimization?: 0 | 1 | 2 | 3 | 99
  /** 0 verbose … 4 fatal. */
  severity?: 0 | 1 | 2 | 3 | 4
}

export interface NativePartition {
  provider: string
  nodes: { name: string; op: string }[]
}

export interface NativeSession {
  readonly inputs: string[]
  readonly outputs: string[]
  /** Rejects with onnxruntime's sentence. Runs of one session wait for each other, off the JavaScript thread. */
  run(feeds: Record<string, NativeFeed>): Promise<Record<string, { dims: number[]; data: Float32Array }>>
  /** Needs `session.record_ep_graph_assignment_info` = `1` in the config. One entry per compiled partition. */
  assignment(): Promise<NativePartition[]>
  /** Frees the network after the run in progress; later calls reject. */
  release(): Promise<void>
}

export interface ComputePlan {
  /** Estimated cost per preferred device; the shares sum to about 1. */
  devices: { device: 'cpu' | 'gpu' | 'ane' | 'none'; cost: number; operations: number }[]
  cpuOperators: string[]
}

export interface NativeEp {
  create(options: NativeSessionOptions): Promise<NativeSession>
  /** macOS 14.4+, rejects elsewhere. Can crash on some bundles: call it in a throw-away process. */
  computePlan(
    bundle: string,
    units: 'CPUOnly' | 'CPUAndGPU' | 'CPUAndNeuralEngine' | 'ALL',
  ): Promise<ComputePlan>
  /** null where there is no Metal device. Bytes. */
  metalDevice(): { name: string; recommendedBytes: number; allocatedBytes: number } | null
}

const ADDON = join('native-ep', 'build', 'Release', 'laya_native_ep.node')

/** Path of the built addon in the nearest folder above `from` that has one; null where it was not built. */
export function findAddon(from: string): string | null {
  // Native files cannot be loaded from inside an asar archive: the packaged copy lies beside it.
  let folder = from.replace(/app\.asar(?!\.unpacked)/, 'app.asar.unpacked')
  for (;;) {
    const path = join(folder, ADDON)
    if (existsSync(path)) return path
    const parent = dirname(folder)
    if (parent === folder) return null
    folder = parent
  }
}

/**
 * Loads the addon found above `from`; null where it was not built, so that the stock binding is used.
 * Throws when a built addon cannot be loaded (another Node ABI, a broken file): that is never passed over silently.
 */
export function loadNative(from: string): NativeEp | null {
  const path = findAddon(from)
  return path === null ? null : (createRequire(path)(path) as NativeEp)
}
