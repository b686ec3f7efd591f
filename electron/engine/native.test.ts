import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { loadNative } from '../../native-ep/index.ts'
import { coreMlOptions, createNativeRuntime, findRuntimeLibrary } from './native.ts'
import { openNetwork, warmUpPasses } from './network.ts'
import { openEngine } from './open.ts'
import { prepareForTest, TEST_CHECKPOINTS } from './prepared.ts'

const native = loadNative(dirname(fileURLToPath(import.meta.url)))
if (native === null) console.warn('native-ep is not built: its engine was not tested (npm run build:native)')

describe('native engine', () => {
  it('finds the library that the npm package ships', () => {
    expect(existsSync(findRuntimeLibrary())).toBe(true)
    expect(findRuntimeLibrary('darwin', 'arm64')).toMatch(
      /bin\/napi-v6\/darwin\/arm64\/libonnxruntime\.1\.dylib$/,
    )
  })

  it('asks Core ML for one unit beside the CPU, static shapes and a cache', () => {
    expect(coreMlOptions('CPUAndGPU', '/cache')).toEqual({
      ModelFormat: 'MLProgram',
      MLComputeUnits: 'CPUAndGPU',
      RequireStaticInputShapes: '1',
      EnableOnSubgraphs: '0',
      SpecializationStrategy: 'FastPrediction',
      ModelCacheDirectory: '/cache',
    })
  })

  it.skipIf(native === null)(
    'answers like the stock binding, on the CPU provider of the same library',
    async () => {
      const prepared = await prepareForTest(TEST_CHECKPOINTS['laya-demo'], ['cpu-fp32', 'gpu-fp32'])
      const spec = prepared.spec({
        engine: 'cpu',
        profile: 'gpu-fp32',
        precision: 'float32',
        lengths: [128, 512],
      })
      const provider = {
        library: findRuntimeLibrary(),
        provider: 'cpu',
        units: 'CPUOnly',
        osBuild: 'test',
      } as const
      const runtime = createNativeRuntime(native!, provider, spec)
      const stock = await openEngine(spec, () => {})
      const engine = await openNetwork(runtime, spec, prepared.checkpoint, () => {})
      for (const pass of warmUpPasses(prepared.checkpoint, engine.info.shape)) {
        const [found, expected] = await Promise.all([engine.run(pass), stock.run(pass)])
        for (const [at, { logits }] of found.rows.entries()) {
          logits.forEach((logit, slot) => {
            expect(Math.abs(logit - expected.rows[at]!.logits[slot]!)).toBeLessThan(1e-4)
          })
        }
      }
      // The CPU owns every node: nothing of that may count for Core ML.
      expect(engine.info).toMatchObject({ nodeShare: 0, cacheHit: false })
      expect(engine.info.partitions).toBeGreaterThan(0)
      await Promise.all([engine.close(), stock.close()])
      prepared.remove()
    },
  )

  it.skipIf(native === null)('reports a graph that cannot be loaded', async () => {
    const spec = { ...SPEC, workFolder: '/nowhere' }
    const provider = {
      library: findRuntimeLibrary(),
      provider: 'cpu',
      units: 'CPUOnly',
      osBuild: 'test',
    } as const
    const opening = createNativeRuntime(native!, provider, spec).openGraph('/nowhere/graph.onnx')
    await expect(opening).rejects.toMatchObject({
      code: 'engine_unavailable',
      details: { cause: expect.any(Error) },
    })
  })
})

const SPEC = {
  engine: 'coreml-native',
  profile: 'gpu',
  precision: 'float16',
  checkpointFolder: '',
  workFolder: '',
} as const
