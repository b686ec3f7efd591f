import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { createActHead } from '../models/acthead.ts'
import { openCheckpoint } from '../models/checkpoint.ts'
import { openEmbeddingTable } from '../models/embeddings.ts'
import { buildFeeds } from '../models/feeds.ts'
import { embeddingType } from '../models/graph/laya.ts'
import type { Model } from '../models/graph/model.ts'
import { getProfile, graphFile, type ProfileName } from '../models/graph/profile.ts'
import { decodeModel } from '../models/graph/reader.ts'
import { encodeModel } from '../models/graph/writer.ts'
import { readOutputs } from '../models/outputs.ts'
import type { Pass, RowOutput } from '../models/pass.ts'
import { prepareGraphs } from '../models/prepare.ts'

export interface GraphSession {
  run(pass: Pass): Promise<RowOutput[]>
  /** Every output tensor by name, also those that `edit` added. */
  outputs(pass: Pass): Promise<Record<string, Float32Array>>
  close(): Promise<void>
}

export interface GraphSessionOptions {
  /** Absent: a temporary folder that `close` removes. */
  workFolder?: string
  length?: number
  session?: ort.InferenceSession.SessionOptions
  /** Changes the graph before it is loaded, to look inside. */
  edit?: (model: Model) => void
}

/** One graph of a checkpoint in a bare onnxruntime session on this thread: for tests and measurements of graphs. */
export async function openGraphSession(
  checkpointFolder: string,
  profileName: ProfileName,
  options: GraphSessionOptions = {},
): Promise<GraphSession> {
  const checkpoint = openCheckpoint(checkpointFolder)
  const profile = getProfile(profileName)
  const folder = options.workFolder ?? mkdtempSync(join(tmpdir(), 'laya-graph-'))
  await prepareGraphs({
    checkpoint,
    workFolder: folder,
    digest: '',
    runtime: ort.env.versions.node ?? '',
    profiles: [profileName],
  })
  const path = join(folder, graphFile(profile, options.length))
  if (options.edit !== undefined) {
    const model = decodeModel(readFileSync(path))
    options.edit(model)
    writeFileSync(path, encodeModel(model))
  }
  const session = await ort.InferenceSession.create(path, {
    graphOptimizationLevel: 'all',
    ...options.session,
  })
  const embeddings = openEmbeddingTable(checkpoint, embeddingType(profile, checkpoint.header))
  const actHead = createActHead(checkpoint.header)

  async function outputs(pass: Pass): Promise<Record<string, Float32Array>> {
    const feeds: Record<string, ort.Tensor> = {}
    for (const [name, { type, data, dims }] of Object.entries(
      buildFeeds(pass, checkpoint.architecture, profile, embeddings),
    )) {
      feeds[name] = new ort.Tensor(type, data as Float32Array, dims)
    }
    const results = await session.run(feeds)
    return Object.fromEntries(
      Object.entries(results).map(([name, tensor]) => [name, tensor.data as Float32Array]),
    )
  }

  return {
    outputs,
    async run(pass) {
      const { logits, sel_hidden: selHidden } = await outputs(pass)
      return readOutputs(pass, { logits: logits!, selHidden: selHidden! }, actHead)
    },
    async close() {
      await session.release()
      embeddings.close()
      if (options.workFolder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
