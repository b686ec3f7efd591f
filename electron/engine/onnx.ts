import { InferenceSession, Tensor } from 'onnxruntime-node'
import { LayaError } from '../../models/errors.ts'
import type { Feed, Feeds } from '../../models/feeds.ts'
import type { GraphOutputs } from '../../models/outputs.ts'
import { deviceTitle } from '../domain/device.ts'
import type { EngineSpec } from './engine.ts'
import type { Graph, Runtime } from './network.ts'

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

/** onnxruntime's own binding. Creation and runs block their thread. */
export function createStockRuntime(spec: EngineSpec): Runtime {
  return {
    async openGraph(path) {
      const options: StockOptions = sessionOptions(spec)
      try {
        return createGraph(await InferenceSession.create(path, options), spec.profilePrefix !== undefined)
      } catch (cause) {
        throw refusal(spec, cause)
      }
    },
    facts: () => ({}),
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

function createGraph(session: InferenceSession, profiled: boolean): Graph {
  return {
    run: (feeds) => runSession(session, feeds),
    async release() {
      if (profiled) session.endProfiling()
      await session.release()
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
