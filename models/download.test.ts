import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHubDouble, type HubDouble, type HubDoubleOptions } from '../e2e/hub.ts'
import { downloadFile, readPresentBytes } from './download.ts'
import { createHub, type Hub, type HubOptions } from './hub.ts'

const REPO = 'owner/model'
const content = randomBytes(3_300_000)
const sha256 = createHash('sha256').update(content).digest('hex')
const small = Buffer.from('{"max_len": 512}')

let folder: string
let double: HubDouble
let hub: Hub
let waits: number[]
const wait = async (ms: number) => {
  waits.push(ms)
}

async function start(more: Partial<HubDoubleOptions> = {}, hubOptions: HubOptions = {}): Promise<void> {
  double = await createHubDouble({ repos: { [REPO]: { 'big.bin': content, 'small.json': small } }, ...more })
  hub = createHub({ env: {}, home: folder, endpoint: double.url, ...hubOptions })
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-download-'))
  waits = []
})
afterEach(async () => {
  await hub.close()
  await double.close()
  rmSync(folder, { recursive: true, force: true })
})

const source = { repo: REPO, revision: 'main', folder: '' }
const target = () => join(folder, 'out', 'big.bin')
async function fetchBig(options: Parameters<typeof downloadFile>[3] = {}, file = 'big.bin') {
  return downloadFile(hub, await hub.describe(source, file), target(), { wait, ...options })
}
function expectWhole(): void {
  expect(readFileSync(target()).equals(content)).toBe(true)
  expect(existsSync(`${target()}.partial`)).toBe(false)
  expect(existsSync(`${target()}.partial.json`)).toBe(false)
}
const bodies = () => double.requests.filter(({ on, method }) => on === 'cdn' && method === 'GET')

describe('downloadFile', () => {
  it('follows the redirect, verifies the digest and counts every byte once', async () => {
    await start()
    let counted = 0
    const digest = await fetchBig({ onBytes: (bytes) => (counted += bytes) })
    expect(digest).toMatchObject({ bytes: content.length, sha256 })
    expect(counted).toBe(content.length)
    expectWhole()
    expect(await readPresentBytes(target())).toBe(content.length)
  })

  it('describes large files by SHA-256, small ones by git digest, and pins the commit', async () => {
    await start()
    expect(await hub.describe(source, 'big.bin')).toMatchObject({
      bytes: content.length,
      sha256,
      gitSha1: null,
    })
    const described = await hub.describe(source, 'small.json')
    expect(described).toMatchObject({ bytes: small.length, sha256: null })
    expect(described.gitSha1).toMatch(/^[0-9a-f]{40}$/)
    expect(described.commit).toMatch(/^[0-9a-f]{40}$/)
  })

  it('survives resets at many places and asks only for what is missing', async () => {
    await start()
    for (const reset of [0, 70_000, 1_200_000, 1_100_000]) double.add({ on: 'cdn', kind: { reset } })
    let counted = 0
    await fetchBig({ onBytes: (bytes) => (counted += bytes) })
    expectWhole()
    expect(counted).toBe(content.length)
    expect(bodies().filter(({ status }) => status === 206).length).toBeGreaterThanOrEqual(2)
    expect(double.sent()).toBeLessThan(content.length * 1.2)
  })

  it('goes on after a pause, in another call, with Range and If-Range', async () => {
    await start({ bytesPerSecond: 8_000_000 })
    const pause = new AbortController()
    double.onSent((total) => total > 1_500_000 && pause.abort())
    await expect(fetchBig({ signal: pause.signal })).rejects.toThrow()
    const kept = await readPresentBytes(target())
    expect(kept).toBeGreaterThan(900_000)
    expect(existsSync(target())).toBe(false)
    await fetchBig()
    expectWhole()
    expect(bodies().at(-1)?.headers).toMatchObject({ range: `bytes=${kept}-` })
    expect(bodies().at(-1)?.headers['if-range']).toBeDefined()
  })

  it('starts over when the server ignores Range', async () => {
    await start()
    double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
    double.add({ on: 'cdn', kind: 'ignore range' })
    let counted = 0
    await fetchBig({ onBytes: (bytes) => (counted += bytes) })
    expectWhole()
    expect(counted).toBe(content.length)
  })

  it('gives up on a server that can neither resume nor finish', async () => {
    await start()
    double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
    for (let i = 0; i < 20; i++) double.add({ on: 'cdn', kind: 'ignore range and reset' })
    await expect(fetchBig()).rejects.toMatchObject({
      code: 'hub_error',
      message: "'big.bin' had to be started over too often.",
    })
    expect(existsSync(target())).toBe(false)
  })

  it.each(['ignore if-range', undefined] as const)(
    'notices a file that changes midway (server: %s) and ends in a clear error for a pinned digest',
    async (manner) => {
      await start()
      const other = randomBytes(content.length)
      double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
      double.add({ on: 'cdn', kind: { replace: other } })
      if (manner) double.add({ on: 'cdn', kind: manner })
      await expect(fetchBig()).rejects.toMatchObject({ code: 'digest_mismatch' })
      expect(existsSync(target())).toBe(false)
      expect(existsSync(`${target()}.partial`)).toBe(false)
    },
  )

  it('never joins pieces of two versions: without a known digest the new version is fetched whole', async () => {
    await start()
    const other = randomBytes(content.length)
    const described = { ...(await hub.describe(source, 'big.bin')), sha256: null }
    double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
    double.add({ on: 'cdn', kind: { replace: other } })
    await downloadFile(hub, described, target(), { wait })
    expect(readFileSync(target()).equals(other)).toBe(true)
  })

  it('fetches once more from the start when pieces do not fit together', async () => {
    await start({ bytesPerSecond: 20_000_000 })
    const pause = new AbortController()
    double.onSent((total) => total > 1_500_000 && pause.abort())
    await expect(fetchBig({ signal: pause.signal })).rejects.toThrow()
    const bytes = readFileSync(`${target()}.partial`)
    bytes[10] = bytes[10]! ^ 1
    writeFileSync(`${target()}.partial`, bytes)
    await fetchBig()
    expectWhole()
  })

  it('refuses a corrupt file and keeps nothing of it', async () => {
    await start()
    double.add({ on: 'cdn', kind: 'corrupt' })
    await expect(fetchBig()).rejects.toMatchObject({ code: 'digest_mismatch' })
    expect(existsSync(`${target()}.partial`)).toBe(false)
    await fetchBig()
    expectWhole()
  })

  it('refuses a file of another size before fetching it', async () => {
    await start({ bytesPerSecond: 20_000_000 })
    const described = { ...(await hub.describe(source, 'big.bin')), bytes: 17, sha256: null }
    await expect(downloadFile(hub, described, target(), { wait })).rejects.toMatchObject({
      code: 'digest_mismatch',
    })
    expect(double.sent()).toBeLessThan(content.length)
  })

  it('answers 416 by starting over, and keeps a file that was already whole', async () => {
    await start()
    const described = await hub.describe(source, 'big.bin')
    double.add({ on: 'cdn', kind: { reset: 2_500_000 } })
    double.add({ on: 'cdn', kind: { status: 416 } })
    await downloadFile(hub, described, target(), { wait })
    expectWhole()
    const sent = double.sent()
    await downloadFile(hub, described, target(), { wait })
    expect(double.sent()).toBe(sent)
  })

  it('drops a partial file that is longer than the file', async () => {
    await start()
    const described = await hub.describe(source, 'big.bin')
    const note = { url: described.url, etag: null, total: null }
    await downloadFile(hub, described, join(folder, 'out', 'other.bin'), { wait })
    writeFileSync(`${target()}.partial`, randomBytes(content.length + 5))
    writeFileSync(`${target()}.partial.json`, JSON.stringify(note))
    await fetchBig()
    expectWhole()
  })

  it('refetches a finished file that has been damaged since', async () => {
    await start()
    await fetchBig()
    writeFileSync(target(), content.subarray(1))
    await fetchBig()
    expectWhole()
  })

  it('asks the Hub for a new link when the old one has expired', async () => {
    await start()
    double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
    double.add({ on: 'cdn', kind: { status: 403 } })
    await fetchBig()
    expectWhole()
  })

  it('waits as long as a busy server asks, then longer and longer, and gives up in the end', async () => {
    await start()
    double.add({ on: 'hub', method: 'GET', kind: { status: 429, headers: { 'retry-after': '7' } } })
    double.add({ on: 'hub', method: 'GET', times: 99, kind: { status: 503 } })
    await expect(fetchBig()).rejects.toMatchObject({ code: 'hub_unreachable' })
    expect(waits[0]).toBe(7000)
    expect(waits.slice(1)).toEqual([2000, 4000, 8000, 15_000, 15_000, 15_000])
  })

  it.each([
    [403, 'hub_forbidden'],
    [404, 'hub_not_found'],
    [418, 'hub_error'],
  ])('ends at once with status %i of the Hub', async (status, code) => {
    await start()
    double.add({ on: 'hub', method: 'GET', kind: { status } })
    await expect(fetchBig()).rejects.toMatchObject({ code })
    expect(waits).toEqual([])
  })

  it('ends in a sentence when nothing listens', async () => {
    await start()
    const described = await hub.describe(source, 'big.bin')
    await double.close()
    await expect(downloadFile(hub, described, target(), { wait })).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('refuses the connection'),
    })
    expect(waits).toHaveLength(7)
  })

  it('takes the size from the length when the Hub told nothing', async () => {
    await start()
    const described = { ...(await hub.describe(source, 'big.bin')), bytes: null, sha256: null }
    double.add({ on: 'cdn', kind: { reset: 1_500_000 } })
    await downloadFile(hub, described, target(), { wait })
    expectWhole()
  })
})
