import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type CompileKey,
  claimTempFolder,
  compileKey,
  dropStaleCompiles,
  findBundle,
  holdsBundle,
  withCompileCache,
} from './compile-cache.ts'

const key: CompileKey = {
  graph: 'abc',
  engine: 'coreml-native',
  options: [['MLComputeUnits', 'CPUAndGPU']],
  osBuild: '24C101',
}
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'laya-cache-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** What the provider writes. */
function compileInto(folder: string): string {
  mkdirSync(join(folder, 'abc', '1_static_mlprogram', 'model', 'compiled_model.mlmodelc'), {
    recursive: true,
  })
  return 'session'
}
const attempts = () => readdirSync(join(root, compileKey(key)))
/** A process id that was used and is free again. */
const deadPid = () => spawnSync(process.execPath, ['-e', '']).pid

describe('compile cache', () => {
  it('compiles once and loads afterwards', async () => {
    const seen: string[] = []
    const compile = async (folder: string) => {
      seen.push(folder)
      return compileInto(folder)
    }
    const first = await withCompileCache(root, key, compile)
    const second = await withCompileCache(root, key, compile)
    expect([first.cacheHit, second.cacheHit]).toEqual([false, true])
    expect(second.folder).toBe(first.folder)
    expect(seen).toEqual([first.folder, first.folder])
    expect(findBundle(first.folder!)).toMatch(/compiled_model\.mlmodelc$/)
  })

  it('gives every difference its own folder', () => {
    const variants: CompileKey[] = [
      key,
      { ...key, graph: 'abd' },
      { ...key, engine: 'coreml' },
      { ...key, options: [['MLComputeUnits', 'CPUAndNeuralEngine']] },
      { ...key, osBuild: '24C102' },
    ]
    expect(new Set(variants.map(compileKey)).size).toBe(variants.length)
  })

  it('does not use what a killed process left half written', async () => {
    const half = join(root, compileKey(key), 'attempt-9-1')
    compileInto(half)
    writeFileSync(join(half, 'owner.json'), JSON.stringify({ pid: deadPid() }))
    const { cacheHit, folder } = await withCompileCache(root, key, async (into) => compileInto(into))
    expect(cacheHit).toBe(false)
    expect(folder).not.toBe(half)
    expect(existsSync(half)).toBe(false)
  })

  it('leaves alone what another live process is writing', async () => {
    const other = join(root, compileKey(key), 'attempt-1-1')
    mkdirSync(other, { recursive: true })
    writeFileSync(join(other, 'owner.json'), JSON.stringify({ pid: process.ppid }))
    await withCompileCache(root, key, async (into) => compileInto(into))
    expect(existsSync(other)).toBe(true)
    expect(dropStaleCompiles(root, [])).toBe(0)
  })

  it('deletes a poisoned entry and compiles again, once', async () => {
    const first = await withCompileCache(root, key, async (into) => compileInto(into))
    let tries = 0
    const again = await withCompileCache(root, key, async (into) => {
      tries++
      if (into === first.folder) throw new Error('bundle is damaged')
      return compileInto(into)
    })
    expect(again).toMatchObject({ cacheHit: false, value: 'session' })
    expect(tries).toBe(2)
    expect(attempts()).toHaveLength(1)
  })

  it('gives the error of the second attempt and leaves nothing behind', async () => {
    await withCompileCache(root, key, async (into) => compileInto(into))
    let tries = 0
    const failing = withCompileCache(root, key, async () => {
      tries++
      throw new Error(`attempt ${tries}`)
    })
    await expect(failing).rejects.toThrow('attempt 2')
    expect(attempts()).toEqual([])
  })

  it('notices a provider that went on without a cache', async () => {
    const result = await withCompileCache(root, key, async () => 'session')
    expect(result).toEqual({ value: 'session', cacheHit: false, folder: null })
    expect(attempts()).toEqual([])
  })

  it('does not take a damaged marker for success', async () => {
    const { folder } = await withCompileCache(root, key, async (into) => compileInto(into))
    writeFileSync(join(folder!, 'ok.json'), '{"at": 12')
    expect((await withCompileCache(root, key, async (into) => compileInto(into))).cacheHit).toBe(false)
  })

  it('drops what no current engine uses', async () => {
    await withCompileCache(root, key, async (into) => compileInto(into))
    await withCompileCache(root, { ...key, osBuild: '24B83' }, async (into) => compileInto(into))
    expect(dropStaleCompiles(root, [key])).toBe(1)
    expect(readdirSync(root)).toEqual([compileKey(key)])
    expect(dropStaleCompiles(join(root, 'absent'), [])).toBe(0)
  })

  it('finds no bundle where there is none', () => {
    expect(holdsBundle(root)).toBe(false)
    expect(findBundle(join(root, 'absent'))).toBe(null)
  })
})

describe('temporary folder', () => {
  it('is emptied when it is claimed, and only itself', () => {
    writeFileSync(join(root, 'kept'), '')
    const folder = claimTempFolder(root, 'service')
    writeFileSync(join(folder, 'onnxruntime-left-over'), 'x')
    expect(readdirSync(claimTempFolder(root, 'service'))).toEqual([])
    expect(readdirSync(root).sort()).toEqual(['kept', 'service'])
  })
})
