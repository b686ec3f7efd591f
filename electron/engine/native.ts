import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Checkpoint } from '../../models/checkpoint.ts'
import { LayaError } from '../../models/errors.ts'
import type { Feeds } from '../../models/feeds.ts'
import { getProfile, graphFile, passShape } from '../../models/graph/profile.ts'
import { withCompileCache } from './compile-cache.ts'
import type { Engine, EngineInfo, EngineSpec } from './engine.ts'
import { createNetwork, type Graphs, warmUp } from './network.ts'

/** The session addon (native-ep/): what the stock binding cannot do. Calls never block the thread. */
export interface NativeEp {
  /** Rejects with onnxruntime's own sentence. */
  create(options: NativeOptions): Promise<NativeSession>
  /** Core ML's plan for a compiled bundle. It can crash the process: only throw-away processes ask. */
  computePlan(bundle: string, units: ComputeUnits): Promise<ComputePlan>
  metalDevice(): { name: string; recommendedBytes: number; allocatedBytes: number } | null
}

export type ComputeUnits = 'CPUOnly' | 'CPUAndGPU' | 'CPUAndNeuralEngine' | 'ALL'

export interface NativeOptions {
  /** Path of the .onnx file. */
  model: string
  /** Name of the C API: "CoreML"; "CPU" for tests on other systems. */
  provider: string
  providerOptions?: Record<string, string>
  config?: Record<string, string>
  threads?: number
  /** 0 = disabled … 99 = all. */
  optimization?: number
  /** 0 = verbose … 4 = fatal. */
  severity?: number
}

export interface NativeSession {
  run(feeds: Feeds): Promise<Record<string, { dims: number[]; data: Float32Array }>>
  /** Partitions with their original nodes; needs `session.record_ep_graph_assignment_info`. */
  assignment(): Promise<{ provider: string; nodes: { name: string; op: string }[] }[]>
  release(): Promise<void>
}

export interface ComputePlan {
  devices: { device: 'cpu' | 'gpu' | 'ane' | 'none'; cost: number; operations: number }[]
  cpuOperators: string[]
}

/** Which provider to ask for and how, so that the same code runs on the CPU provider where there is no Core ML. */
export interface NativeProvider {
  provider: 'CoreML' | 'CPU'
  units: ComputeUnits
  osBuild: string
}

/**
 * Loads a prepared checkpoint through the addon: keyed options, a compile cache that outlives the process, runs and
 * creation beside other work of the thread.
 * @throws LayaError `engine_unavailable`, `checkpoint_unusable`, `inference_failed`.
 */
export async function openNativeEngine(
  native: NativeEp,
  { provider, units, osBuild }: NativeProvider,
  spec: EngineSpec,
  checkpoint: Checkpoint,
  onProgress: (step: string) => void,
): Promise<Engine> {
  const start = performance.now()
  const profile = getProfile(spec.profile)
  const shape = passShape(profile, spec.lengths)
  const lengths = shape.kind === 'fixed' ? shape.lengths.map(({ length }) => length) : [undefined]
  const sessions = new Map<number | undefined, NativeSession>()
  const graphs = createGraphs(sessions, shape.kind === 'fixed')
  const placed = { partitions: 0, own: 0, nodes: 0 }
  let cacheHit = true
  try {
    for (const [done, length] of lengths.entries()) {
      onProgress(`Compiling: ${done + 1} of ${lengths.length} graphs`)
      const model = join(spec.workFolder, graphFile(profile, length))
      const opened = await openSession(native, model, { provider, units, osBuild }, spec)
      sessions.set(length, opened.session)
      cacheHit &&= opened.cacheHit
      for (const { provider: owner, nodes } of await opened.session.assignment()) {
        placed.nodes += nodes.length
        if (owner.startsWith(provider)) placed.own += nodes.length
        // Per graph: what every length has in common.
        placed.partitions += 1 / lengths.length
      }
    }
    const info: EngineInfo = {
      spec,
      shape,
      loadMs: performance.now() - start,
      partitions: Math.ceil(placed.partitions),
      nodeShare: placed.nodes === 0 ? 0 : placed.own / placed.nodes,
      cacheHit,
    }
    const engine = createNetwork(checkpoint, profile, graphs, info)
    await warmUp(engine, checkpoint, onProgress)
    return engine
  } catch (error) {
    await graphs.release()
    throw error
  }
}

/** Provider options of Core ML (accelerators.md 11.3); an unknown name or value is refused by onnxruntime. */
export function coreMlOptions(units: ComputeUnits, cacheFolder: string): Record<string, string> {
  return {
    ModelFormat: 'MLProgram',
    MLComputeUnits: units,
    RequireStaticInputShapes: '1',
    EnableOnSubgraphs: '0',
    SpecializationStrategy: 'FastPrediction',
    ModelCacheDirectory: cacheFolder,
  }
}

async function openSession(
  native: NativeEp,
  model: string,
  { provider, units, osBuild }: NativeProvider,
  spec: EngineSpec,
): Promise<{ session: NativeSession; cacheHit: boolean }> {
  if (!existsSync(model)) {
    throw new LayaError('checkpoint_unusable', 'A prepared graph of this checkpoint is missing.', {
      hint: 'Verify the checkpoint; its graphs are then written again.',
    })
  }
  const create = (providerOptions: Record<string, string>) =>
    native.create({
      model,
      provider,
      providerOptions,
      config: {
        'session.disable_cpu_ep_fallback': provider === 'CPU' ? '0' : '1',
        'session.record_ep_graph_assignment_info': '1',
      },
      threads: 1,
      optimization: 0,
      severity: 2,
    })
  try {
    if (provider === 'CPU') return { session: await create({}), cacheHit: false }
    const options = Object.entries(coreMlOptions(units, ''))
    const graph = createHash('sha256').update(readFileSync(model)).digest('hex')
    const key = { graph, engine: spec.engine, options, osBuild }
    const compiled = await withCompileCache(join(spec.workFolder, 'compiled'), key, (folder) =>
      create(coreMlOptions(units, folder)),
    )
    return { session: compiled.value, cacheHit: compiled.cacheHit }
  } catch (cause) {
    throw new LayaError('engine_unavailable', 'Core ML could not load the network.', {
      hint: 'The log has the reason the runtime gave.',
      cause,
    })
  }
}

function createGraphs(sessions: Map<number | undefined, NativeSession>, fixed: boolean): Graphs {
  return {
    async run(length, feeds) {
      const session = sessions.get(fixed ? length : undefined)
      if (session === undefined)
        throw new LayaError('inference_failed', `No graph of ${length} tokens is loaded.`)
      try {
        const { logits, sel_hidden } = await session.run(feeds)
        if (logits === undefined || sel_hidden === undefined)
          throw new TypeError('an output of the graph is missing')
        return { logits: logits.data, selHidden: sel_hidden.data }
      } catch (cause) {
        throw new LayaError('inference_failed', 'Inference failed inside the runtime.', {
          hint: 'Send the request again. If it fails again, check the engines in the panel.',
          cause,
        })
      }
    },
    async release() {
      const open = [...sessions.values()]
      sessions.clear()
      for (const session of open) await session.release()
    },
  }
}
