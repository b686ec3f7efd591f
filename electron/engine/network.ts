import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createActHead } from '../../models/acthead.ts'
import type { Checkpoint } from '../../models/checkpoint.ts'
import { openEmbeddingTable } from '../../models/embeddings.ts'
import { LayaError } from '../../models/errors.ts'
import { buildFeeds, type Feeds } from '../../models/feeds.ts'
import { embeddingType } from '../../models/graph/laya.ts'
import { getProfile, graphFile, passShape } from '../../models/graph/profile.ts'
import { type GraphOutputs, readOutputs } from '../../models/outputs.ts'
import { type Pass, type PassRow, type PassShape, planPasses } from '../../models/pass.ts'
import type { Engine, EngineInfo, EngineSpec } from './engine.ts'

/** One loaded graph, whatever holds it. */
export interface Graph {
  /** Rejects with the runtime's own error. */
  run(feeds: Feeds): Promise<GraphOutputs>
  release(): Promise<void>
}

/** What opens graphs: onnxruntime's own binding or the native addon. */
export interface Runtime {
  /** Rejects with LayaError `engine_unavailable`. */
  openGraph(path: string): Promise<Graph>
  /** What was learnt about the placement while the graphs were opened. */
  facts(): Pick<EngineInfo, 'partitions' | 'nodeShare' | 'cacheHit'>
}

/**
 * Loads the graphs of a prepared checkpoint, puts embeddings before them and the act head after them, and warms up.
 * @throws LayaError `engine_unavailable` when this machine cannot run the engine, `checkpoint_unusable` when a graph
 *   is missing, `inference_failed` when the warm-up fails.
 */
export async function openNetwork(
  runtime: Runtime,
  spec: EngineSpec,
  checkpoint: Checkpoint,
  onProgress: (step: string) => void,
): Promise<Engine> {
  const start = performance.now()
  const profile = getProfile(spec.profile)
  const shape = passShape(profile, spec.lengths)
  const lengths = shape.kind === 'fixed' ? shape.lengths.map(({ length }) => length) : [undefined]
  const graphs = new Map<number | undefined, Graph>()
  const embeddings = openEmbeddingTable(checkpoint, embeddingType(profile, checkpoint.header))
  const close = async () => {
    embeddings.close()
    const open = [...graphs.values()]
    graphs.clear()
    for (const graph of open) await graph.release()
  }
  try {
    for (const [done, length] of lengths.entries()) {
      onProgress(`Loading: ${done + 1} of ${lengths.length} graphs`)
      graphs.set(
        length,
        await runtime.openGraph(findGraph(join(spec.workFolder, graphFile(profile, length)))),
      )
    }
    const info: EngineInfo = { spec, shape, loadMs: performance.now() - start, ...runtime.facts() }
    const actHead = createActHead(checkpoint.header)
    const engine: Engine = {
      info,
      async run(pass) {
        const begin = performance.now()
        const graph = graphs.get(shape.kind === 'fixed' ? pass.length : undefined)
        if (graph === undefined) {
          throw new LayaError('inference_failed', `No graph of ${pass.length} tokens is loaded.`)
        }
        const feeds = buildFeeds(pass, checkpoint.architecture, profile, embeddings)
        const rows = readOutputs(pass, await runGraph(graph, feeds), actHead)
        return { rows, forwardMs: performance.now() - begin }
      },
      close,
    }
    await warmUp(engine, checkpoint, onProgress)
    return engine
  } catch (error) {
    await close()
    throw error
  }
}

function findGraph(path: string): string {
  if (existsSync(path)) return path
  throw new LayaError('checkpoint_unusable', 'A prepared graph of this checkpoint is missing.', {
    hint: 'Verify the checkpoint; its graphs are then written again.',
  })
}

async function runGraph(graph: Graph, feeds: Feeds): Promise<GraphOutputs> {
  try {
    return await graph.run(feeds)
  } catch (cause) {
    throw new LayaError('inference_failed', 'Inference failed inside the runtime.', {
      hint: 'Send the request again. If it fails again, check the engines in the panel.',
      cause,
    })
  }
}

/** Runs the engine once over each kind of shape it will meet: first runs are slow. */
async function warmUp(
  engine: Engine,
  checkpoint: Checkpoint,
  onProgress: (step: string) => void,
): Promise<void> {
  const passes = warmUpPasses(checkpoint, engine.info.shape)
  for (const [done, pass] of passes.entries()) {
    onProgress(`Warming up: ${done + 1} of ${passes.length} shapes`)
    await engine.run(pass)
  }
}

/**
 * Passes of made-up rows with real token ids, the same every time: a short row, the whole window, many options and
 * packed rows; of fixed graphs one pass each, since their shape never changes.
 */
export function warmUpPasses({ architecture, special }: Checkpoint, shape: PassShape): Pass[] {
  const row = (tokens: number, options: number): PassRow => {
    const ids = Int32Array.from({ length: tokens }, (_, i) => (i * 7919 + 11) % architecture.vocabSize)
    ids[0] = special.cls
    const markers = Int32Array.from({ length: options }, (_, i) => 1 + i)
    for (const marker of markers) ids[marker] = special.mask
    return { ids, markers, type: 0 }
  }
  const window = architecture.maxLen
  const short = row(Math.min(40, window), 3)
  if (shape.kind === 'fixed') {
    return shape.lengths.flatMap((length) => planPasses([short], { kind: 'fixed', lengths: [length] }))
  }
  const alone = [short, row(window, 4), row(Math.min(window, 200), Math.min(100, Math.floor(window / 3)))]
  const packed = [100, 80, 60].map((tokens) => row(Math.min(tokens, window), 4))
  return [...alone.flatMap((one) => planPasses([one], shape)), ...planPasses(packed, shape)]
}
