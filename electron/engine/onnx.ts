import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import type { Checkpoint } from '../../models/checkpoint.ts'
import { LayaError } from '../../models/errors.ts'
import type { Feed, Feeds } from '../../models/feeds.ts'
import { getProfile, graphFile, passShape } from '../../models/graph/profile.ts'
import type { GraphOutputs } from '../../models/outputs.ts'
import { deviceTitle } from '../domain/device.ts'
import type { Engine, EngineInfo, EngineSpec } from './engine.ts'
import { createNetwork, type Graphs, warmUp } from './network.ts'

/**
 * All the binding reads of a Core ML entry. Its own type allows more and drops it silently
 * (microsoft/onnxruntime#28610): with this one, other keys do not compile.
 */
export interface CoreMlProvider {
  name: 'coreml'
  coreMlFlags: number
}

interface WebGpuProvider {
  name: 'webgpu'
  storageBufferCacheMode: 'simple'
}

/** Session options as far as they are used here; values of `extra` must be strings. */
export interface StockOptions {
  executionProviders: (CoreMlProvider | WebGpuProvider | 'cpu')[]
  graphOptimizationLevel: 'disabled' | 'all'
  enableCpuMemArena?: false
  enableMemPattern?: false
  intraOpNumThreads?: number
  interOpNumThreads?: 1
  logSeverityLevel?: 1 | 2
  enableProfiling?: true
  profileFilePrefix?: string
  extra: { session: Record<string, string | Record<string, string>> }
}

/** Options per engine (accelerators.md 11.2). Throws RangeError for an engine that is not the stock binding's. */
export function sessionOptions(spec: EngineSpec): StockOptions {
  const profiling: Pick<StockOptions, 'enableProfiling' | 'profileFilePrefix'> =
    spec.profilePrefix === undefined ? {} : { enableProfiling: true, profileFilePrefix: spec.profilePrefix }
  switch (spec.engine) {
    case 'coreml':
      if (spec.coreMlFlags === undefined) throw new RangeError('the Core ML engine needs its flags')
      return {
        executionProviders: [{ name: 'coreml', coreMlFlags: spec.coreMlFlags }],
        // Level 1 fusions pull nodes out of Core ML's reach.
        graphOptimizationLevel: 'disabled',
        enableCpuMemArena: false,
        enableMemPattern: false,
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        // INFO: the provider prints how many partitions it made (`placement.ts` reads it).
        logSeverityLevel: 1,
        extra: { session: { disable_cpu_ep_fallback: '1', record_ep_graph_assignment_info: '1' } },
        ...profiling,
      }
    case 'webgpu':
      return {
        executionProviders: [{ name: 'webgpu', storageBufferCacheMode: 'simple' }],
        graphOptimizationLevel: 'all',
        extra: { session: { disable_cpu_ep_fallback: '1' } },
        ...profiling,
      }
    case 'cpu':
      return {
        executionProviders: ['cpu'],
        graphOptimizationLevel: 'all',
        ...(spec.threads === undefined ? {} : { intraOpNumThreads: spec.threads }),
        // Spinning threads would burn the cores of a machine that waits for the next request.
        extra: { session: { intra_op: { allow_spinning: '0' } } },
        ...profiling,
      }
    case 'coreml-native':
      throw new RangeError('the native engine is opened by native.ts')
  }
}

/**
 * Loads a prepared checkpoint through onnxruntime's own binding and warms it up. Blocks its thread while it does.
 * @throws LayaError `engine_unavailable` when this machine cannot run the engine, `checkpoint_unusable` when a graph
 *   is missing or damaged, `inference_failed` when the warm-up fails.
 */
export async function openOnnxEngine(
  spec: EngineSpec,
  checkpoint: Checkpoint,
  onProgress: (step: string) => void,
): Promise<Engine> {
  const start = performance.now()
  const profile = getProfile(spec.profile)
  const shape = passShape(profile, spec.lengths)
  const lengths = shape.kind === 'fixed' ? shape.lengths.map(({ length }) => length) : [undefined]
  const sessions = new Map<number | undefined, InferenceSession>()
  const graphs = createGraphs(sessions, shape.kind === 'fixed', spec.profilePrefix !== undefined)
  try {
    for (const [done, length] of lengths.entries()) {
      onProgress(`Loading: ${done + 1} of ${lengths.length} graphs`)
      sessions.set(length, await createSession(join(spec.workFolder, graphFile(profile, length)), spec))
    }
    const info: EngineInfo = { spec, shape, loadMs: performance.now() - start }
    const engine = createNetwork(checkpoint, profile, graphs, info)
    await warmUp(engine, checkpoint, onProgress)
    return engine
  } catch (error) {
    await graphs.release()
    throw error
  }
}

async function createSession(path: string, spec: EngineSpec): Promise<InferenceSession> {
  if (!existsSync(path)) {
    throw new LayaError('checkpoint_unusable', 'A prepared graph of this checkpoint is missing.', {
      hint: 'Verify the checkpoint; its graphs are then written again.',
    })
  }
  const options: StockOptions = sessionOptions(spec)
  try {
    return await InferenceSession.create(path, options)
  } catch (cause) {
    throw refusal(spec, cause)
  }
}

/** onnxruntime's own sentences carry paths and names of internals: they go into the log, not to people. */
function refusal(spec: EngineSpec, cause: unknown): LayaError {
  const message = cause instanceof Error ? cause.message : String(cause)
  const name = deviceTitle({ engine: spec.engine, active: 'cpu' })
  for (const [pattern, sentence] of REFUSALS) {
    if (pattern.test(message)) return new LayaError('engine_unavailable', sentence(name), { cause })
  }
  return new LayaError('engine_unavailable', `${name}: the network could not be loaded.`, {
    hint: 'The log has the reason the runtime gave.',
    cause,
  })
}

const REFUSALS: [RegExp, (name: string) => string][] = [
  [
    /fallback to CPU EP has been explicitly disabled/i,
    (name) => `${name}: some steps of the network would run on the CPU.`,
  ],
  [/WebGPU adapter|No supported adapters/i, () => 'WebGPU found no usable graphics adapter.'],
  [
    /no available backend found|not supported backend|backend not found/i,
    (name) => `${name}: the runtime on this system does not have it.`,
  ],
  [
    /external data|out of bounds|model\.safetensors/i,
    () => 'The weights of this checkpoint could not be read.',
  ],
]

function createGraphs(
  sessions: Map<number | undefined, InferenceSession>,
  fixed: boolean,
  profiled: boolean,
): Graphs {
  return {
    async run(length, feeds) {
      const session = sessions.get(fixed ? length : undefined)
      if (session === undefined) {
        throw new LayaError('inference_failed', `No graph of ${length} tokens is loaded.`)
      }
      try {
        return await runSession(session, feeds)
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
      for (const session of open) {
        if (profiled) session.endProfiling()
        await session.release()
      }
    },
  }
}

async function runSession(session: InferenceSession, feeds: Feeds): Promise<GraphOutputs> {
  const tensors = Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, toTensor(feed)]))
  // Sessions at INFO would log every run.
  const outputs = await session.run(tensors, { logSeverityLevel: 2 })
  return { logits: floats(outputs.logits), selHidden: floats(outputs.sel_hidden) }
}

function toTensor(feed: Feed): Tensor {
  if (feed.type === 'float16') return new Tensor('float16', feed.data, feed.dims)
  if (feed.type === 'float32') return new Tensor('float32', feed.data, feed.dims)
  return new Tensor('int64', feed.data, feed.dims)
}

function floats(tensor: Tensor | undefined): Float32Array {
  if (!(tensor?.data instanceof Float32Array)) throw new TypeError('an output of the graph is not float32')
  return tensor.data
}
