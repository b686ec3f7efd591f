import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHubDouble, type HubDouble } from '../e2e/hub.ts'
import { createHub, type Hub, type HubOptions, readToken } from './hub.ts'

const TOKEN = 'hf_secretsecretsecret'
const files = { 'big.bin': Buffer.alloc(2_000_000, 7), 'small.json': Buffer.from('{}') }
const source = { repo: 'owner/model', revision: 'main', folder: '' }

let home: string
let double: HubDouble
let hub: Hub
const closers: (() => unknown)[] = []

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'laya-hub-'))
})
afterEach(async () => {
  await hub?.close()
  await double?.close()
  for (const close of closers.splice(0)) await close()
  rmSync(home, { recursive: true, force: true })
})

async function start(token?: string, options: HubOptions = {}): Promise<void> {
  double = await createHubDouble({ repos: { 'owner/model': files }, token })
  hub = createHub({ env: {}, home, endpoint: double.url, ...options })
}

async function readAll(path: string): Promise<number> {
  const { body } = await hub.open(await hub.describe(source, path), 0, null)
  let bytes = 0
  for await (const chunk of body) bytes += (chunk as Buffer).length
  return bytes
}

/** A proxy that only tunnels, and tells where to. */
async function startProxy(): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server: Server = createServer((_, response) => response.writeHead(405).end())
  server.on('connect', (request, client) => {
    seen.push(request.url!)
    const [host, port] = request.url!.split(':')
    const upstream = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    upstream.on('error', () => client.destroy())
    client.on('error', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

describe('the token', () => {
  it('is read from its standard places, the environment first', () => {
    mkdirSync(join(home, '.cache', 'huggingface'), { recursive: true })
    writeFileSync(join(home, '.cache', 'huggingface', 'token'), ' hf_file\n')
    writeFileSync(join(home, 'elsewhere'), 'hf_path')
    expect(readToken({}, home)).toBe('hf_file')
    expect(readToken({ HF_TOKEN_PATH: join(home, 'elsewhere') }, home)).toBe('hf_path')
    expect(readToken({ HUGGING_FACE_HUB_TOKEN: 'hf_old' }, home)).toBe('hf_old')
    expect(readToken({ HF_TOKEN: 'hf_new', HUGGING_FACE_HUB_TOKEN: 'hf_old' }, home)).toBe('hf_new')
    expect(readToken({ HF_HOME: join(home, 'nowhere') }, home)).toBeNull()
  })

  it('is not sent to a Hub that does not ask for it', async () => {
    await start(undefined, { env: { HF_TOKEN: TOKEN } })
    expect(await readAll('big.bin')).toBe(2_000_000)
    expect(double.requests.some(({ headers }) => headers.authorization)).toBe(false)
  })

  it('opens a gated repository and never reaches the content network', async () => {
    await start(TOKEN, { env: { HF_TOKEN: TOKEN } })
    expect(await readAll('big.bin')).toBe(2_000_000)
    const asked = double.requests.filter(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.every(({ on }) => on === 'hub')).toBe(true)
  })

  it('does not follow a redirect to another host', async () => {
    await start(TOKEN, { env: { HF_TOKEN: TOKEN } })
    const described = await hub.describe(source, 'small.json')
    double.add({ on: 'hub', kind: { redirect: `${double.cdnUrl}/elsewhere` } })
    await expect(hub.open(described, 0, null)).rejects.toThrow()
    const elsewhere = double.requests.filter(({ on }) => on === 'cdn')
    expect(elsewhere).toHaveLength(1)
    expect(elsewhere[0]!.headers.authorization).toBeUndefined()
  })

  it.each([
    [{}, 'hf auth login'],
    [{ HF_TOKEN: 'hf_wrong' }, 'Accept the conditions'],
  ])('is asked for in words, and stands in no error (%o)', async (env, advice) => {
    await start(TOKEN, { env })
    const error = await hub.describe(source, 'big.bin').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'hub_forbidden', details: { hint: expect.stringContaining(advice) } })
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('hf_wrong')
  })
})

describe('the way to the Hub', () => {
  it('is the mirror of the settings, else HF_ENDPOINT, else the Hub itself', () => {
    const env = { HF_ENDPOINT: 'https://mirror.example/hub/' }
    expect(createHub({ env, endpoint: 'http://own.example' }).endpoint).toBe('http://own.example')
    expect(createHub({ env }).endpoint).toBe('https://mirror.example/hub')
    expect(createHub({ env: {} }).endpoint).toBe('https://huggingface.co')
    expect(() => createHub({ env: {}, endpoint: 'ftp://own.example' })).toThrow(
      'not an http or https address',
    )
  })

  it.each(['settings', 'HTTPS_PROXY', 'http_proxy'])('goes through the proxy of %s', async (place) => {
    const proxy = await startProxy()
    const options = place === 'settings' ? { proxy: proxy.url } : { env: { [place]: proxy.url } }
    await start(undefined, options)
    // The double speaks http only, so a proxy for https alone must be left out.
    const used = place !== 'HTTPS_PROXY'
    expect(await readAll('big.bin')).toBe(2_000_000)
    const origins = [double.url, double.cdnUrl].map((url) => new URL(url).host)
    expect([...new Set(proxy.seen)].sort()).toEqual(used ? origins.sort() : [])
  })

  it('leaves out the proxy for hosts of NO_PROXY', async () => {
    const proxy = await startProxy()
    await start(undefined, { env: { http_proxy: proxy.url, no_proxy: '127.0.0.1' } })
    expect(await readAll('small.json')).toBe(2)
    expect(proxy.seen).toEqual([])
  })

  it('says so when the proxy refuses', async () => {
    const refusing = createServer((_, response) => response.end())
    refusing.on('connect', (_, client) => client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'))
    await new Promise<void>((resolve) => refusing.listen(0, '127.0.0.1', resolve))
    closers.push(() => refusing.close())
    await start(undefined, { proxy: `http://127.0.0.1:${(refusing.address() as AddressInfo).port}` })
    await expect(hub.describe(source, 'small.json')).rejects.toMatchObject({
      code: 'hub_unreachable',
      message: expect.stringContaining('proxy'),
    })
  })

  it.each([{ offline: true }, { env: { HF_HUB_OFFLINE: '1' } }])(
    'is closed when offline: no socket (%o)',
    async (options) => {
      let connections = 0
      const listener = createServer()
      listener.on('connection', () => connections++)
      await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
      closers.push(() => listener.close())
      hub = createHub({
        env: {},
        home,
        endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
        ...options,
      })
      await expect(hub.describe(source, 'small.json')).rejects.toMatchObject({ code: 'offline' })
      const file = {
        path: 'x',
        url: `${hub.endpoint}/x`,
        bytes: 1,
        sha256: null,
        gitSha1: null,
        commit: null,
      }
      await expect(hub.open(file, 0, null)).rejects.toMatchObject({ code: 'offline' })
      expect(connections).toBe(0)
    },
  )

  it('follows relative redirects of the Hub and stops in a circle', async () => {
    await start()
    double.add({
      on: 'hub',
      method: 'HEAD',
      kind: { redirect: '/owner/model/resolve/main/small.json?again=1' },
    })
    expect((await hub.describe(source, 'small.json')).bytes).toBe(2)
    double.add({ on: 'hub', times: 99, kind: { redirect: '/owner/model/resolve/main/small.json' } })
    await expect(hub.describe(source, 'small.json')).rejects.toMatchObject({ code: 'hub_error' })
  })
})
