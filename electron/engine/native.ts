import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { LayaError } from '../../models/errors.ts'
import type { ComputePlan, NativeEp, NativeSession } from '../../native-ep/index.ts'
import { withCompileCache } from './compile-cache.ts'
import type { EngineSpec } from './engine.ts'
import type { Graph, Runtime } from './network.ts'
import { PROVIDERS } from './placement.ts'

export type ComputeUnits = Parameters<NativeEp['computePlan']>[1]
export type { ComputePlan, NativeEp }

/** Which provider to ask for and how, so that the same code runs on the CPU provider where there is no Core ML. */
export interface NativeProvider {
  /** The library that `onnxruntime-node` ships. */
  library: string
  provider: 'CoreML' | 'cpu'
  units: ComputeUnits
  /** Part of the compile cache's key. */
  osBuild: string
}

/** Path of the library beside the stock binding; outside the archive in a packed app. */
export function findRuntimeLibrary(
  platform: NodeJS.Platform = process.platform,
  arch: string = process.arch,
): string {
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node')
  const root = dirname(dirname(entry)).replace(/app\.asar(?!\.unpacked)/, 'app.asar.unpacked')
  const name = platform === 'darwin' ? 'libonnxruntime.1.dylib' : 'libonnxruntime.so.1'
  return join(root, 'bin', 'napi-v6', platform, arch, name)
}

/**
 * The addon: keyed options, a compile cache that outlives the process, runs and creation beside other work of the
 * thread.
 */
export function createNativeRuntime(native: NativeEp, provider: NativeProvider, spec: EngineSpec): Runtime {
  const graphs: { partitions: number; own: number; nodes: number; cacheHit: boolean }[] = []
  return {
    async openGraph(path) {
      const { session, cacheHit } = await openSession(native, path, provider, spec)
      const assignment = await session.assignment()
      const nodesOf = (list: typeof assignment) => list.reduce((sum, { nodes }) => sum + nodes.length, 0)
      const own = assignment.filter(({ provider: owner }) => owner === PROVIDERS['coreml-native'])
      graphs.push({ partitions: assignment.length, own: nodesOf(own), nodes: nodesOf(assignment), cacheHit })
      return createGraph(session)
    },
    // Of several lengths the worst counts.
    facts: () => ({
      partitions: Math.max(...graphs.map(({ partitions }) => partitions)),
      nodeShare: Math.min(...graphs.map(({ own, nodes }) => (nodes === 0 ? 0 : own / nodes))),
      cacheHit: graphs.every(({ cacheHit }) => cacheHit),
    }),
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
  { library, provider, units, osBuild }: NativeProvider,
  spec: EngineSpec,
): Promise<{ session: NativeSession; cacheHit: boolean }> {
  const create = (providerOptions: Record<string, string>) =>
    native.create({
      library,
      model,
      provider,
      providerOptions,
      config: {
        'session.disable_cpu_ep_fallback': provider === 'cpu' ? '0' : '1',
        'session.record_ep_graph_assignment_info': '1',
      },
      threads: 1,
      optimization: 0,
      severity: 2,
    })
  try {
    if (provider === 'cpu') return { session: await create({}), cacheHit: false }
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

function createGraph(session: NativeSession): Graph {
  return {
    async run(feeds) {
      const { logits, sel_hidden } = await session.run(feeds)
      if (logits === undefined || sel_hidden === undefined)
        throw new TypeError('an output of the graph is missing')
      return { logits: logits.data, selHidden: sel_hidden.data }
    },
    release: () => session.release(),
  }
}
