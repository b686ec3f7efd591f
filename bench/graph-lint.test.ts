import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCheckpoint } from '../models/checkpoint.ts'
import { writeGraph } from '../models/graph/laya.ts'
import { lintGraph, predictPlacement } from '../models/graph/lint.ts'
import type { Model } from '../models/graph/model.ts'
import { FIXED_SHAPES, getProfile, graphFile } from '../models/graph/profile.ts'
import { decodeModel } from '../models/graph/reader.ts'
import { sideFileBytes } from '../models/graph/side-file.ts'
import { encodeModel } from '../models/graph/writer.ts'
import { prepareGraphs } from '../models/prepare.ts'
import { architectureOf, CHECKPOINT_SHAPES, type ShapeName } from './checkpoint-shapes.ts'
import { layoutWeights, makeCheckpoint } from './make-checkpoint.ts'

const PUBLISHED = { english: 842_609_210, multilingual: 643_835_514, 'typed-decisions': 842_609_220 }
const LENGTHS = FIXED_SHAPES.map((shape) => shape.length)

describe.each(Object.keys(PUBLISHED) as (keyof typeof PUBLISHED)[])(
  'the %s checkpoint, without weights',
  (name) => {
    const shape = CHECKPOINT_SHAPES[name]
    const architecture = architectureOf(shape)
    const { header } = layoutWeights(architecture, shape.temperatureType)

    it('has the size of the published file', () => {
      expect(header.fileBytes).toBe(PUBLISHED[name])
    })

    it.each(LENGTHS)('gives a graph of %i tokens that is one partition', (length) => {
      const { bytes, side } = writeGraph({ architecture, header, identity: name }, getProfile('gpu'), length)
      const model = decodeModel(bytes)
      const findings = lintGraph(model, (file) =>
        file === 'model.safetensors' ? header.fileBytes : sideFileBytes(side),
      )
      expect(findings).toEqual([])
      expect(predictPlacement(model)).toEqual({ partitions: 1, cpuNodes: [] })
      expect(bytes.length).toBeLessThan(1.5e6)
    })
  },
)

describe.each(['small-english', 'small-multilingual', 'small-typed-decisions'] as ShapeName[])(
  '%s after level-1 optimisation',
  (name) => {
    let folder: string
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'laya-lint-'))
      await makeCheckpoint(name, folder)
      await prepareGraphs({
        checkpoint: openCheckpoint(folder),
        workFolder: join(folder, 'work'),
        digest: '',
        runtime: '',
        profiles: ['gpu-fp32'],
      })
    })
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    it.each(LENGTHS)('a graph of %i tokens is one partition', async (length) => {
      const model = await optimise(join(folder, 'work'), graphFile(getProfile('gpu-fp32'), length))
      expect(lintGraph(model, sizeIn(join(folder, 'work')))).toEqual([])
    })

    it('finds the trap that only optimisation shows: MatMul and Add become a Gemm', async () => {
      const work = join(folder, 'work')
      const file = graphFile(getProfile('gpu-fp32'), 128)
      const model = decodeModel(readFileSync(join(work, file)))
      flattenSelection(model)
      writeFileSync(join(work, 'trap.onnx'), encodeModel(model))
      const optimised = await optimise(work, 'trap.onnx')
      expect(lintGraph(optimised, sizeIn(work)).map((finding) => finding.rule)).toContain('gemm')
    })
  },
)

/** The selection at rank 2, straight into the residual Add: what the recipe avoids. */
function flattenSelection(model: Model): void {
  const { nodes } = model.graph
  const product = nodes.find((node) => node.name === 'head1_kept_by_line')!
  const reshape = nodes.find((node) => node.name === 'head1_kept')!
  const lines = nodes.find((node) => node.outputs[0] === product.inputs[1])!
  product.inputs = ['sel', lines.inputs[0]!]
  product.outputs = reshape.outputs
  model.graph.nodes = nodes.filter((node) => node !== reshape)
  model.graph.values = model.graph.values.filter((value) => value.name !== 'head1_kept_by_line')
}

async function optimise(folder: string, file: string): Promise<Model> {
  const optimizedModelFilePath = join(folder, `optimised-${file}`)
  const session = await ort.InferenceSession.create(join(folder, file), {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'basic',
    optimizedModelFilePath,
    extra: { session: { strict_shape_type_inference: '1' } },
  })
  await session.release()
  return decodeModel(readFileSync(optimizedModelFilePath))
}

function sizeIn(folder: string): (file: string) => number | undefined {
  return (file) => statSync(join(folder, file), { throwIfNoEntry: false })?.size
}
