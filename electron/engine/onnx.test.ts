import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COREML_FLAGS } from './candidates.ts'
import type { EngineSpec } from './engine.ts'
import { warmUpPasses } from './network.ts'
import { type CoreMlProvider, sessionOptions } from './onnx.ts'
import { openEngine } from './open.ts'
import { type Prepared, prepareForTest, TEST_CHECKPOINTS } from './prepared.ts'

const silent = () => {}
const spec: EngineSpec = {
  engine: 'cpu',
  profile: 'cpu-fp32',
  precision: 'float32',
  checkpointFolder: '',
  workFolder: '',
}

describe('session options', () => {
  it('forbid the CPU as a way out for every accelerator', () => {
    const coreml = sessionOptions({ ...spec, engine: 'coreml', coreMlFlags: COREML_FLAGS.gpu })
    expect(coreml).toEqual({
      executionProviders: [{ name: 'coreml', coreMlFlags: 0x38 }],
      graphOptimizationLevel: 'disabled',
      enableCpuMemArena: false,
      enableMemPattern: false,
      intraOpNumThreads: 1,
      interOpNumThreads: 1,
      logSeverityLevel: 1,
      extra: { session: { disable_cpu_ep_fallback: '1', record_ep_graph_assignment_info: '1' } },
    })
    const webgpu = sessionOptions({ ...spec, engine: 'webgpu' })
    expect(webgpu.extra.session.disable_cpu_ep_fallback).toBe('1')
    expect(webgpu.executionProviders).toEqual([{ name: 'webgpu', storageBufferCacheMode: 'simple' }])
  })

  it('let threads of the CPU sleep between requests', () => {
    expect(sessionOptions({ ...spec, threads: 3 })).toEqual({
      executionProviders: ['cpu'],
      graphOptimizationLevel: 'all',
      intraOpNumThreads: 3,
      extra: { session: { intra_op: { allow_spinning: '0' } } },
    })
  })

  it('have no key that the binding would drop', () => {
    // @ts-expect-error The binding reads flags only; keyed options need the native engine.
    const keyed: CoreMlProvider = { name: 'coreml', coreMlFlags: 0x38, modelCacheDirectory: '/tmp' }
    expect(keyed.coreMlFlags).toBe(0x38)
    expect(() => sessionOptions({ ...spec, engine: 'coreml' })).toThrow('flags')
  })
})

describe('engine of the stock binding', () => {
  let prepared: Prepared
  beforeAll(async () => {
    prepared = await prepareForTest(TEST_CHECKPOINTS['laya-demo'], ['cpu-fp32', 'gpu-fp32', 'gpu'])
  })
  afterAll(() => prepared.remove())

  it('says what it does while it opens', async () => {
    const steps: string[] = []
    const engine = await openEngine(openable('cpu-fp32', 'float32'), (step) => steps.push(step))
    expect(steps[0]).toBe('Loading: 1 of 1 graphs')
    expect(steps.at(-1)).toBe('Warming up: 4 of 4 shapes')
    expect(engine.info.loadMs).toBeGreaterThan(0)
    expect(engine.info.fake).toBeUndefined()
    await engine.close()
  })

  it.each([
    ['gpu-fp32', 'float32', 1e-3],
    ['gpu', 'float16', 1e-2],
  ] as const)(
    'runs the fixed graphs of %s with the answers of the dynamic one',
    async (profile, precision, limit) => {
      const dynamic = await openEngine(openable('cpu-fp32', 'float32'), silent)
      const fixed = await openEngine({ ...openable(profile, precision), lengths: [128, 512] }, silent)
      expect(fixed.info.shape).toEqual({
        kind: 'fixed',
        lengths: [
          { length: 128, selected: 32 },
          { length: 512, selected: 128 },
        ],
      })
      const [short] = warmUpPasses(prepared.checkpoint, dynamic.info.shape)
      const expected = (await dynamic.run(short!)).rows[0]!
      for (const pass of warmUpPasses(prepared.checkpoint, fixed.info.shape)) {
        const found = (await fixed.run(pass)).rows[0]!
        found.logits.forEach((logit, at) => {
          expect(Math.abs(logit - expected.logits[at]!)).toBeLessThan(limit)
        })
      }
      const wrongLength = { ...short!, length: 1024, selected: 288 }
      await expect(fixed.run(wrongLength)).rejects.toMatchObject({
        code: 'inference_failed',
        message: 'No graph of 1024 tokens is loaded.',
      })
      await Promise.all([dynamic.close(), fixed.close()])
    },
  )

  it('names a missing graph and a damaged one', async () => {
    const other = await prepareForTest(TEST_CHECKPOINTS['fixture-multilingual'], ['cpu-fp32'])
    const open = () =>
      openEngine(other.spec({ engine: 'cpu', profile: 'cpu-fp32', precision: 'float32' }), silent)
    const graph = join(other.workFolder, 'laya-cpu-fp32.onnx')
    truncateSync(graph, 1000)
    await expect(open()).rejects.toMatchObject({
      code: 'engine_unavailable',
      details: { cause: expect.any(Error) },
    })
    writeFileSync(graph, 'no graph')
    await expect(open()).rejects.toMatchObject({ code: 'engine_unavailable' })
    rmSync(graph)
    await expect(open()).rejects.toMatchObject({ code: 'checkpoint_unusable' })
    other.remove()
  })

  it.skipIf(process.platform === 'darwin')('refuses Core ML where there is none, in words', async () => {
    const opening = openEngine({ ...openable('gpu', 'float16'), engine: 'coreml', coreMlFlags: 0x38 }, silent)
    await expect(opening).rejects.toMatchObject({ code: 'engine_unavailable', message: /Core ML/ })
    const native = openEngine(
      { ...openable('gpu', 'float16'), engine: 'coreml-native', coreMlFlags: 0x38 },
      silent,
    )
    await expect(native).rejects.toMatchObject({ code: 'engine_unavailable' })
  })

  function openable(profile: EngineSpec['profile'], precision: EngineSpec['precision']): EngineSpec {
    return prepared.spec({ engine: 'cpu', profile, precision })
  }
})
