import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DEFAULT_SETTINGS } from '../domain/settings.ts'
import {
  clearLeftover,
  emptyFolder,
  inspectProcess,
  listFiles,
  readSettings,
  writeSettings,
} from './files.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-files-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('settings', () => {
  test('no file yet: the defaults', () => {
    expect(readSettings(join(folder, 'none.json'))).toEqual({ settings: DEFAULT_SETTINGS, notices: [] })
  })

  test('written whole, readable by the user alone, with nothing left beside it', () => {
    const file = join(folder, 'new', 'settings.json')
    writeSettings(file, { ...DEFAULT_SETTINGS, port: 6001, token: 'secret' })
    writeSettings(file, { ...DEFAULT_SETTINGS, port: 6002, token: 'secret' })
    expect(readSettings(file).settings).toMatchObject({ port: 6002, token: 'secret' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(folder, 'new'))).toEqual(['settings.json'])
  })
})

test('a folder of temporary files is emptied, and made when it is missing', () => {
  const temporary = join(folder, 'tmp')
  emptyFolder(temporary)
  mkdirSync(join(temporary, 'onnxruntime-1', 'deep'), { recursive: true })
  emptyFolder(temporary)
  expect(readdirSync(temporary)).toEqual([])
})

describe('what an earlier run left behind', () => {
  const file = () => join(folder, 'endpoint.json')
  const ended: number[] = []
  const clear = (found: Awaited<ReturnType<typeof inspectProcess>>) =>
    clearLeftover(
      file(),
      async () => found,
      (pid) => ended.push(pid),
    )
  beforeEach(() => {
    ended.length = 0
    const facts = {
      url: 'http://127.0.0.1:5292',
      port: 5292,
      pid: 77,
      startedAt: 1e12,
      nonce: 'n',
      version: '1',
    }
    writeFileSync(file(), JSON.stringify(facts))
  })

  test('nothing', async () => {
    rmSync(file())
    expect(await clear(null)).toEqual({ verdict: 'none', file: null })
  })

  test('a file without its process is removed', async () => {
    expect((await clear(null)).verdict).toBe('stale')
    expect([existsSync(file()), ended]).toEqual([false, []])
  })

  test('a file that cannot be read is removed, and nobody is ended for it', async () => {
    writeFileSync(file(), '{"pid": 77')
    expect((await clear({ startedAt: 1e12, parent: 1 })).verdict).toBe('stale')
    expect([existsSync(file()), ended]).toEqual([false, []])
  })

  test('another process with the same pid is not touched', async () => {
    expect((await clear({ startedAt: 1e12 + 60_000, parent: 1 })).verdict).toBe('stale')
    expect(ended).toEqual([])
  })

  test('an orphan is ended', async () => {
    expect((await clear({ startedAt: 1e12 + 400, parent: 1 })).verdict).toBe('orphan')
    expect([existsSync(file()), ended]).toEqual([false, [77]])
  })

  test('a service that somebody looks after stays, and so does its file', async () => {
    const { verdict, file: named } = await clear({ startedAt: 1e12, parent: 500 })
    expect([verdict, named?.port, existsSync(file()), ended]).toEqual(['other', 5292, true, []])
  })
})

test('the system knows when a process began and who began it', async () => {
  const before = Date.now()
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(child, 'spawn')
  const found = await inspectProcess(child.pid!)
  expect(found?.parent).toBe(process.pid)
  expect(Math.abs(found!.startedAt - before)).toBeLessThan(2500)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await inspectProcess(child.pid!)).toBeNull()
})

test('places', () => {
  const files = listFiles('/data', '/logs', '/app')
  expect(files).toMatchObject({
    settings: '/data/settings.json',
    endpoint: '/data/endpoint.json',
    docs: '/app/docs',
  })
})
