import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Session } from 'electron'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFileHandler, harden, PANEL_URL } from './protocol.ts'

let folder: string
let get: (url: string, init?: RequestInit) => Promise<Response>

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-protocol-'))
  mkdirSync(join(folder, 'renderer', 'assets'), { recursive: true })
  writeFileSync(join(folder, 'renderer', 'index.html'), '<!doctype html>')
  writeFileSync(join(folder, 'renderer', 'assets', 'a.js'), 'export {}')
  writeFileSync(join(folder, 'secret.js'), 'secret')
  symlinkSync('.', join(folder, 'renderer', 'loop'))
  const handle = createFileHandler(join(folder, 'renderer'))
  get = (url, init) => handle(new Request(url, init))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('the page and its script, with policy and kind', async () => {
  const page = await get(PANEL_URL)
  expect(page.status).toBe(200)
  expect(await page.text()).toBe('<!doctype html>')
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*connect-src 'none'/)
  expect(page.headers.get('x-content-type-options')).toBe('nosniff')
  const script = await get(`${PANEL_URL}assets/a.js?v=1#x`)
  expect([script.status, script.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
})

describe('404 for', () => {
  test.each([
    'app://panel/missing.js',
    'app://panel/assets',
    'app://panel/../secret.js',
    'app://panel/%2e%2e/secret.js',
    'app://panel/%2e%2e%2fsecret.js',
    'app://panel/..%2fsecret.js',
    'app://panel/assets/..%5c..%5csecret.js',
    'app://other/index.html',
    'https://panel/index.html',
    'file:///etc/passwd',
  ])('%s', async (url) => {
    const response = await get(url)
    expect(response.status).toBe(404)
    expect(await response.text()).toBe('Not found')
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('another method', async () => {
    expect((await get(PANEL_URL, { method: 'POST' })).status).toBe(404)
  })
})

test('the session grants nothing and lets only own files through', () => {
  type Answer = (value: { cancel?: boolean } | boolean) => void
  const held: Record<string, (...values: never[]) => unknown> = {}
  const keep = (name: string) => (handler: never) => {
    held[name] = handler
  }
  harden({
    setPermissionRequestHandler: keep('request'),
    setPermissionCheckHandler: keep('check'),
    setDevicePermissionHandler: keep('device'),
    webRequest: { onBeforeRequest: keep('before') },
  } as unknown as Session)
  let granted: unknown
  const answer: Answer = (value) => {
    granted = value
  }
  held.request!(null as never, 'media' as never, answer as never)
  expect(granted).toBe(false)
  expect(held.check!()).toBe(false)
  expect(held.device!()).toBe(false)
  const cancelled = (url: string) => {
    held.before!({ url } as never, answer as never)
    return (granted as { cancel: boolean }).cancel
  }
  expect(['app://panel/', 'data:image/png;base64,', 'devtools://x'].map(cancelled)).toEqual([
    false,
    false,
    false,
  ])
  expect(
    ['https://a.example/', 'http://127.0.0.1:5292/', 'file:///etc/passwd', 'app://other/'].map(cancelled),
  ).toEqual([true, true, true, true])
})
