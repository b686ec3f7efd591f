import { createActHead } from '../../models/acthead.ts'
import type { Checkpoint } from '../../models/checkpoint.ts'
import { openEmbeddingTable } from '../../models/embeddings.ts'
import { buildFeeds, type Feeds } from '../../models/feeds.ts'
import { embeddingType } from '../../models/graph/laya.ts'
import type { Profile } from '../../models/graph/profile.ts'
import { type GraphOutputs, readOutputs } from '../../models/outputs.ts'
import { type Pass, type PassRow, type PassShape, planPasses } from '../../models/pass.ts'
import type { Engine, EngineInfo } from './engine.ts'

/** Loaded graphs of one profile, whatever runtime holds them. */
export interface Graphs {
  /** @param length S of the fixed graph to run; dynamic profiles have one graph for all. */
  run(length: number, feeds: Feeds): Promise<GraphOutputs>
  release(): Promise<void>
}

/** The whole network around loaded graphs: embeddings before them, cut and act head after them. */
export function createNetwork(
  checkpoint: Checkpoint,
  profile: Profile,
  graphs: Graphs,
  info: EngineInfo,
): Engine {
  const actHead = createActHead(checkpoint.header)
  const embeddings = openEmbeddingTable(checkpoint, embeddingType(profile, checkpoint.header))
  return {
    info,
    async run(pass) {
      const start = performance.now()
      const outputs = await graphs.run(
        pass.length,
        buildFeeds(pass, checkpoint.architecture, profile, embeddings),
      )
      const rows = readOutputs(pass, outputs, actHead)
      return { rows, forwardMs: performance.now() - start }
    },
    async close() {
      embeddings.close()
      await graphs.release()
    },
  }
}

/**
 * Runs the engine once over each kind of shape it will meet, because first runs are slow: a short row, the whole
 * window, many options, and every fixed length.
 */
export async function warmUp(
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

/** Passes of made-up rows with real token ids; deterministic. */
export function warmUpPasses({ architecture, special }: Checkpoint, shape: PassShape): Pass[] {
  const row = (tokens: number, options: number): PassRow => {
    const ids = Int32Array.from({ length: tokens }, (_, i) => (i * 7919 + 11) % architecture.vocabSize)
    ids[0] = special.cls
    const markers = Int32Array.from({ length: options }, (_, i) => 1 + i)
    for (const marker of markers) ids[marker] = special.mask
    return { ids, markers, type: 0 }
  }
  const longest =
    shape.kind === 'fixed' ? Math.max(...shape.lengths.map(({ length }) => length)) : architecture.maxLen
  const window = Math.min(architecture.maxLen, longest)
  const rows = [row(40, 3), row(window, 4), row(Math.min(window, 200), Math.min(100, Math.floor(window / 3)))]
  if (shape.kind === 'dynamic') {
    const packed = planPasses([row(100, 4), row(80, 2), row(60, 2)], shape)
    return [...rows.flatMap((one) => planPasses([one], shape)), ...packed]
  }
  return shape.lengths.flatMap((length) => {
    const fitting = rows.filter(
      (one) => one.ids.length <= length.length && one.markers.length < length.selected,
    )
    const only: PassShape = { kind: 'fixed', lengths: [length] }
    return planPasses(fitting.slice(0, 1), only)
  })
}
