import { afterEach, describe, expect, it } from 'vitest'
import type { Pass } from '../../models/pass.ts'
import type { Question } from '../../models/question.ts'
import type { EngineSpec, EngineThread } from './engine.ts'
import { createFakeEncoder, createFakeEngine, type Faults } from './fake.ts'
import { createEngineThread } from './threaded.ts'

const spec: EngineSpec = {
  engine: 'cpu',
  profile: 'cpu-fp32',
  precision: 'float32',
  checkpointFolder: '',
  workFolder: '',
}
const pass: Pass = {
  length: 8,
  selected: 3,
  rows: [{ ids: Int32Array.of(1, 10, 2, 3, 40, 3, 41, 2), markers: Int32Array.of(3, 5), type: 0 }],
  index: [0],
}

const open: EngineThread[] = []
function start(faults: Faults = {}): EngineThread {
  const thread = createEngineThread({
    workerUrl: new URL('./fake-worker.ts', import.meta.url),
    workerData: faults,
  })
  open.push(thread)
  return thread
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((thread) => thread.close()))
})

describe('engine thread', () => {
  it('gives the answers of the engine that runs on it', async () => {
    const engine = await start().openEngine(spec)
    const result = await engine.run(pass)
    expect(result.rows).toEqual((await createFakeEngine(spec).run(pass)).rows)
    expect(engine.info.fake).toBe(true)
  })

  it('leaves the caller its rows, also when they are views of a larger buffer', async () => {
    const engine = await start().openEngine(spec)
    const table = Int32Array.from({ length: 100_000 }, (_, i) => i)
    const rows = [{ ids: table.subarray(50, 58), markers: table.subarray(3, 5), type: 1 as const }]
    const first = await engine.run({ ...pass, rows })
    expect(rows[0]!.ids.length).toBe(8)
    expect(await engine.run({ ...pass, rows })).toEqual(first)
  })

  it('refuses shared memory before it reaches the thread', async () => {
    const engine = await start().openEngine(spec)
    const ids = new Int32Array(new SharedArrayBuffer(32))
    await expect(engine.run({ ...pass, rows: [{ ...pass.rows[0]!, ids }] })).rejects.toThrow(
      'SharedArrayBuffer',
    )
    expect((await engine.run(pass)).rows).toHaveLength(1)
  })

  it('encodes on the thread', async () => {
    const encoder = await start().openEncoder('')
    const question: Question = {
      id: 'q',
      type: 'choice',
      instructions: 'Which team?',
      options: [
        { key: 'a', value: 'a', text: 'a: first' },
        { key: 'b', value: 'b', text: 'b: second' },
      ],
      order: [1, 0],
    }
    const rows = await encoder.encode({ text: 'two words', list: false }, [question], encoder.window)
    const here = createFakeEncoder(encoder.window)
    expect(rows).toEqual(await here.encode({ text: 'two words', list: false }, [question], encoder.window))
  })

  it('passes errors with code, sentence, hint and cause', async () => {
    const opening = start({ failToOpen: 'WebGPU found no adapter' }).openEngine(spec)
    await expect(opening).rejects.toMatchObject({
      code: 'engine_unavailable',
      message: 'WebGPU found no adapter',
      details: { hint: 'Another engine is used.' },
    })
    const engine = await start({ throwOnRun: 2 }).openEngine(spec)
    await engine.run(pass)
    await expect(engine.run(pass)).rejects.toMatchObject({
      code: 'inference_failed',
      details: { cause: new Error('fault on purpose') },
    })
    expect((await engine.run(pass)).rows).toHaveLength(1)
  })

  it('fails the running and the waiting calls when the thread dies, and says so once', async () => {
    const thread = start({ crashOnRun: 2 })
    const engine = await thread.openEngine(spec)
    await engine.run(pass)
    const running = engine.run(pass)
    const waiting = engine.run(pass)
    await expect(running).rejects.toMatchObject({ code: 'inference_failed' })
    await expect(waiting).rejects.toMatchObject({ code: 'inference_failed' })
    await expect(thread.died).resolves.toMatchObject({
      message: expect.stringContaining('ended before it answered'),
    })
    await expect(engine.run(pass)).rejects.toMatchObject({ code: 'inference_failed' })
    expect(await thread.close()).toBe(true)

    const replaced = await start().openEngine(spec)
    expect((await replaced.run(pass)).rows).toHaveLength(1)
  })

  it('says when a thread is stuck in native code', async () => {
    const thread = start({ hangOnRun: 1, hangMs: 3000 })
    const engine = await thread.openEngine(spec)
    const running = expect(engine.run(pass)).rejects.toMatchObject({ code: 'inference_failed' })
    expect(await thread.close(400)).toBe(false)
    await running
  })

  it('ends in order: the running pass is answered, later calls are refused', async () => {
    const thread = start({ slowMs: 200 })
    const engine = await thread.openEngine(spec)
    const running = engine.run(pass)
    expect(await thread.close(5000)).toBe(true)
    expect((await running).rows).toHaveLength(1)
    await expect(engine.run(pass)).rejects.toMatchObject({ code: 'inference_failed' })
    let died = false
    void thread.died.then(() => {
      died = true
    })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(died).toBe(false)
  })

  it('reports an entry that does not start', async () => {
    const thread = createEngineThread({ workerUrl: new URL('./no-such-worker.ts', import.meta.url) })
    await expect(thread.openEngine(spec)).rejects.toMatchObject({ code: 'inference_failed' })
    await expect(thread.died).resolves.toBeInstanceOf(Error)
  })
})
