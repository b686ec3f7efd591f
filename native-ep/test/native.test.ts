import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAddon, loadNative, type NativeEp, type NativeSessionOptions } from '../index.ts'
import { writeTinyGraph } from './graph.ts'

const here = fileURLToPath(new URL('..', import.meta.url))
const compiler = spawnSync('c++', ['--version']).status === 0
const addon = findAddon(here)
if (addon === null) {
  const why = compiler ? 'the addon is not built: run npm run build:native' : 'no C++ compiler here'
  console.warn(`native-ep tests are skipped: ${why}`)
}

const require = createRequire(import.meta.url)
const binding = join(
  dirname(require.resolve('onnxruntime-node/package.json')),
  'bin/napi-v6',
  process.platform,
  process.arch,
)
const library = join(
  binding,
  process.platform === 'darwin' ? 'libonnxruntime.1.dylib' : 'libonnxruntime.so.1',
)

describe.skipIf(addon === null)('native-ep', () => {
  let folder: string
  let graph: string
  let native: NativeEp
  const options = (more: Partial<NativeSessionOptions> = {}): NativeSessionOptions => ({
    library,
    model: graph,
    provider: 'cpu',
    config: { 'session.record_ep_graph_assignment_info': '1' },
    ...more,
  })
  const feed = (...data: number[]) => ({
    x: { type: 'float32' as const, dims: [data.length / 2, 2], data: new Float32Array(data) },
  })

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'laya-native-'))
    graph = join(folder, 'tiny.onnx')
    writeTinyGraph(graph)
    native = loadNative(here) as NativeEp
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('creates, runs and releases a session', async () => {
    const session = await native.create(options())
    expect(session.inputs).toEqual(['x'])
    expect(session.outputs).toEqual(['y'])
    const { y } = await session.run(feed(1, 1, 2, 0))
    expect(y?.dims).toEqual([2, 3])
    expect([...(y?.data ?? [])]).toEqual([3, 7.5, 0, 2, 6.5, 0])
    await session.release()
    await expect(session.run(feed(1, 1))).rejects.toThrow('released')
  })

  it('runs a view in the middle of a buffer', async () => {
    const session = await native.create(options())
    const data = new Float32Array(new Float32Array([9, 9, 1, 1, 9]).buffer, 8, 2)
    const { y } = await session.run({ x: { type: 'float32', dims: [1, 2], data } })
    expect([...(y?.data ?? [])]).toEqual([3, 7.5, 0])
    await session.release()
  })

  it('tells which provider got which node', async () => {
    const session = await native.create(options())
    const partitions = await session.assignment()
    // The CPU provider lists each node by itself; a compiling provider has one entry per partition.
    expect(new Set(partitions.map((partition) => partition.provider))).toEqual(
      new Set(['CPUExecutionProvider']),
    )
    expect(partitions.flatMap((partition) => partition.nodes)).toEqual([
      { name: 'linear', op: 'Gemm' },
      { name: 'relu', op: 'Relu' },
    ])
    await session.release()
    const plain = await native.create(options({ config: {} }))
    await expect(plain.assignment()).rejects.toThrow('record_ep_graph_assignment_info')
  })

  it('does not block the JavaScript thread and keeps parallel runs apart', async () => {
    const session = await native.create(options())
    const results = await Promise.all(Array.from({ length: 50 }, (_, i) => session.run(feed(i, 0))))
    expect(results.map((result) => result.y?.data[0])).toEqual(Array.from({ length: 50 }, (_, i) => i))
    await session.release()
  })

  it("passes on onnxruntime's own sentences", async () => {
    await expect(native.create(options({ model: join(folder, 'absent.onnx') }))).rejects.toThrow(
      /absent\.onnx/,
    )
    await expect(native.create(options({ library: join(folder, 'absent.so') }))).rejects.toThrow(
      /could not be loaded/,
    )
    await expect(native.create(options({ library: addon as string }))).rejects.toThrow(/not onnxruntime/)
    await expect(native.create(options({ provider: 'CoreML', config: {} }))).rejects.toThrow(/CoreML/)
    const refused = { 'session.disable_cpu_ep_fallback': '1' }
    await expect(native.create(options({ config: refused }))).rejects.toThrow(/fallback to CPU/i)
    const session = await native.create(options())
    await expect(session.run({})).rejects.toThrow("input 'x' is missing")
    await session.release()
  })

  it('refuses shared memory, wrong types and wrong dims by name', async () => {
    const session = await native.create(options())
    const shared = new Float32Array(new SharedArrayBuffer(8))
    expect(() => session.run({ x: { type: 'float32', dims: [1, 2], data: shared } })).toThrow(/shared memory/)
    expect(() => session.run({ x: { type: 'float32', dims: [3, 2], data: new Float32Array(2) } })).toThrow(
      /dims/,
    )
    expect(() =>
      session.run({ x: { type: 'float16', dims: [1, 2], data: new Float32Array(2) } } as never),
    ).toThrow(/data/)
    await session.release()
  })

  it.skipIf(process.platform === 'darwin')('says where compute plans exist', async () => {
    await expect(native.computePlan(folder, 'ALL')).rejects.toThrow('macOS 14.4')
    expect(native.metalDevice()).toBeNull()
  })

  it('works on several threads of one process', async () => {
    const code = `
      const { parentPort, workerData } = require('node:worker_threads')
      const native = require(workerData.addon)
      native.create(workerData.options)
        .then((session) => session.run(workerData.feed).then((result) => session.release().then(() => result)))
        .then((result) => parentPort.postMessage([...result.y.data]))`
    const answers = await Promise.all(
      [1, 2, 3].map(
        (value) =>
          new Promise((resolve, reject) => {
            const workerData = { addon, options: options(), feed: feed(value, 0) }
            new Worker(code, { eval: true, workerData }).once('message', resolve).once('error', reject)
          }),
      ),
    )
    expect(answers).toEqual([1, 2, 3].map((value) => [value, value * 3 + 0.5, 0]))
  })

  it('survives 1,500 rounds of wrong arguments', async () => {
    const script = join(folder, 'exercise.mjs')
    await build({
      entryPoints: [join(here, 'test/exercise.ts')],
      outfile: script,
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
    const result = spawnSync(process.execPath, [script, addon as string, library, graph, '1500'], {
      encoding: 'utf8',
    })
    expect({ status: result.status, signal: result.signal }).toEqual({ status: 0, signal: null })
    const counts = JSON.parse(result.stdout.trim().split('\n').at(-1) as string) as {
      refused: number
      answered: number
    }
    expect(counts.refused).toBeGreaterThan(1500)
    expect(counts.answered).toBeGreaterThan(100)
  })
})

describe('findAddon', () => {
  it('is null where nothing was built, and looks beside an archive, not inside', () => {
    expect(findAddon(tmpdir())).toBeNull()
    const inside = findAddon(join(here, 'app.asar', 'dist'))
    expect(inside === null || existsSync(inside)).toBe(true)
  })
})
