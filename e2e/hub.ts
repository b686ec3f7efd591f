// Longer than 250 lines: one server whose answers and faults are read together.

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** What goes wrong with a request. Every fault is used up after `times` requests (1 unless told). */
export interface Fault {
  /** Which requests: the Hub itself or the content network behind it, and part of the path. */
  on?: 'hub' | 'cdn'
  path?: string
  method?: 'GET' | 'HEAD'
  times?: number
  kind:
    | { reset: number }
    | { stall: number }
    | { status: number; headers?: Record<string, string> }
    | 'ignore range'
    | 'ignore range and reset'
    | 'ignore if-range'
    /** The file gets another content and another ETag from this request on. */
    | { replace: Buffer }
    /** One bit of the body is flipped. */
    | 'corrupt'
    | { redirect: string }
}

export interface HubRequest {
  on: 'hub' | 'cdn'
  method: string
  path: string
  headers: IncomingMessage['headers']
  status: number
}

export interface HubDouble {
  /** For `HF_ENDPOINT`. */
  url: string
  /** Origin of the content network, where large files are redirected to. */
  cdnUrl: string
  requests: HubRequest[]
  /** Body bytes handed to the sockets so far. */
  sent(): number
  /** Called with the running total after every piece. */
  onSent(listener: (total: number) => void): void
  add(fault: Fault): void
  close(): Promise<void>
}

export interface HubDoubleOptions {
  /** `owner/name` → path in the repository → content, or the path of a file on disk. */
  repos: Record<string, Record<string, Buffer | string>>
  commit?: string
  /** Files of at least this size are "large": named by SHA-256 and served by the content network. */
  largeBytes?: number
  bytesPerSecond?: number
  /** Asks for `Authorization: Bearer <token>` on the Hub. */
  token?: string
  port?: number
}

const COMMIT = '1c5edc17a7acd8701df6fc341c0d179f1c62c982'
const PIECE_BYTES = 64 << 10

interface Blob {
  content: Buffer | string
  bytes: number
  sha256: string
  etag: string
}

function readBlob(content: Buffer | string): Blob {
  const hash = createHash('sha256')
  const bytes = typeof content === 'string' ? statSync(content).size : content.length
  if (typeof content === 'string' && bytes > 64 << 20) {
    // Hashing 843 MB at start would only delay a measurement: the file's own name for it is enough there.
    hash.update(readFileSync(`${content}.sha256`, 'utf8').slice(0, 64))
    const sha256 = readFileSync(`${content}.sha256`, 'utf8').slice(0, 64)
    return { content, bytes, sha256, etag: `"${sha256.slice(0, 32)}"` }
  }
  const data = typeof content === 'string' ? readFileSync(content) : content
  const git = createHash('sha1').update(`blob ${bytes}\0`).update(data).digest('hex')
  return { content: data, bytes, sha256: hash.update(data).digest('hex'), etag: `"${git}"` }
}

/** All files below a folder, as a repository of the double. */
export function readRepository(folder: string, prefix = ''): Record<string, string> {
  const files: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name.endsWith('.sha256')) continue
    const path = join(entry.parentPath, entry.name)
    files[prefix + relative(folder, path)] = path
  }
  return files
}

/**
 * A Hugging Face Hub on loopback: resolve URLs, a redirect of large files to a second origin with a signed path,
 * ranges, ETags, throttling and faults. Real sockets, nothing else is listened on.
 */
export async function createHubDouble(options: HubDoubleOptions): Promise<HubDouble> {
  const commit = options.commit ?? COMMIT
  const largeBytes = options.largeBytes ?? 1 << 20
  const requests: HubRequest[] = []
  const faults: (Fault & { left: number })[] = []
  const listeners: ((total: number) => void)[] = []
  const blobs = new Map<string, Blob>()
  let total = 0
  let signature = 0
  const valid = new Set<string>()

  for (const [repo, files] of Object.entries(options.repos))
    for (const [path, content] of Object.entries(files)) blobs.set(`${repo}/${path}`, readBlob(content))

  function takeFault(on: 'hub' | 'cdn', request: IncomingMessage): Fault['kind'] | undefined {
    const fault = faults.find(
      (one) =>
        one.left > 0 &&
        (one.on === undefined || one.on === on) &&
        (one.method === undefined || one.method === request.method) &&
        (one.path === undefined || decodeURIComponent(request.url ?? '').includes(one.path)),
    )
    if (fault) fault.left--
    return fault?.kind
  }

  async function sendBody(
    response: ServerResponse,
    blob: Blob,
    from: number,
    fault: Fault['kind'] | undefined,
  ) {
    const half = fault === 'ignore range and reset' ? blob.bytes / 2 : Number.POSITIVE_INFINITY
    const breakAt = typeof fault === 'object' && 'reset' in fault ? fault.reset : half
    const stallAt = typeof fault === 'object' && 'stall' in fault ? fault.stall : Number.POSITIVE_INFINITY
    const pieces =
      typeof blob.content === 'string'
        ? createReadStream(blob.content, { start: from, highWaterMark: 1 << 20 })
        : cut(blob.content.subarray(from))
    const closed = new Promise((resolve) => response.once('close', resolve))
    let done = 0
    for await (const whole of pieces) {
      let piece = whole as Buffer
      if (fault === 'corrupt' && done === 0) {
        piece = Buffer.from(piece)
        piece[0] = piece[0]! ^ 1
      }
      const rest = Math.min(breakAt, stallAt) - done
      if (rest < piece.length) piece = piece.subarray(0, rest)
      if (response.destroyed) return
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), closed])
      done += piece.length
      total += piece.length
      for (const listener of listeners) listener(total)
      if (done >= breakAt) {
        // Let the piece reach the client, then cut the line without a farewell.
        await delay(5)
        response.socket?.resetAndDestroy()
        return
      }
      if (done >= stallAt) return
      if (options.bytesPerSecond) await delay((piece.length / options.bytesPerSecond) * 1000)
    }
    response.end()
  }

  async function serveBlob(
    on: 'hub' | 'cdn',
    request: IncomingMessage,
    response: ServerResponse,
    key: string,
  ) {
    const fault = takeFault(on, request)
    const note = (status: number) =>
      requests.push({ on, method: request.method!, path: request.url!, headers: request.headers, status })
    if (typeof fault === 'object' && 'status' in fault) {
      note(fault.status)
      response.writeHead(fault.status, fault.headers).end('refused')
      return
    }
    if (typeof fault === 'object' && 'redirect' in fault) {
      note(302)
      response.writeHead(302, { location: fault.redirect }).end()
      return
    }
    if (typeof fault === 'object' && 'replace' in fault) blobs.set(key, readBlob(fault.replace))
    const blob = blobs.get(key)!
    const headers: Record<string, string> = {
      etag: blob.etag,
      'accept-ranges': 'bytes',
      'x-repo-commit': commit,
    }
    const wanted = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')
    const condition = request.headers['if-range']
    const fresh = condition === undefined || condition === blob.etag || fault === 'ignore if-range'
    const ranged = fault !== 'ignore range' && fault !== 'ignore range and reset'
    const from = wanted && fresh && ranged ? Number(wanted[1]) : 0
    if (from > 0 && from >= blob.bytes) {
      note(416)
      response.writeHead(416, { ...headers, 'content-range': `bytes */${blob.bytes}` }).end()
      return
    }
    const status = from > 0 ? 206 : 200
    if (from > 0) headers['content-range'] = `bytes ${from}-${blob.bytes - 1}/${blob.bytes}`
    headers['content-length'] = String(blob.bytes - from)
    note(status)
    response.writeHead(status, headers)
    if (request.method === 'HEAD') response.end()
    else await sendBody(response, blob, from, fault)
  }

  async function answerHub(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?')
    const match = /^\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(decodeURIComponent(path))
    const key = match ? `${match[1]}/${match[3]}` : ''
    const blob = blobs.get(key)
    const note = (status: number) =>
      requests.push({ on: 'hub', method: request.method!, path, headers: request.headers, status })
    if (options.token && request.headers.authorization !== `Bearer ${options.token}`) {
      note(401)
      response.writeHead(401, { 'x-error-code': 'GatedRepo' }).end('Access to this repository is restricted.')
      return
    }
    if (!blob || (match?.[2] !== commit && match?.[2] !== 'main')) {
      note(404)
      response.writeHead(404, { 'x-error-code': 'EntryNotFound' }).end('Entry not found')
      return
    }
    if (blob.bytes < largeBytes) return serveBlob('hub', request, response, key)
    const fault = takeFault('hub', request)
    if (typeof fault === 'object' && 'status' in fault) {
      note(fault.status)
      response.writeHead(fault.status, fault.headers).end('refused')
      return
    }
    const signed = `/${encodeURIComponent(key)}?signature=${++signature}`
    valid.add(signed)
    note(302)
    response
      .writeHead(302, {
        location: typeof fault === 'object' && 'redirect' in fault ? fault.redirect : `${cdnUrl}${signed}`,
        'x-repo-commit': commit,
        'x-linked-size': String(blob.bytes),
        'x-linked-etag': `"${blob.sha256}"`,
      })
      .end()
  }

  async function answerCdn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?')
    const key = decodeURIComponent(path.slice(1))
    if (!valid.has(request.url ?? '') || !blobs.has(key)) {
      requests.push({ on: 'cdn', method: request.method!, path, headers: request.headers, status: 403 })
      response.writeHead(403).end('expired')
      return
    }
    await serveBlob('cdn', request, response, key)
  }

  const servers = await Promise.all(
    [answerHub, answerCdn].map((answer, index) => listen(answer, index === 0 ? (options.port ?? 0) : 0)),
  )
  const [url, cdnUrl] = servers.map(
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  ) as [string, string]
  return {
    url,
    cdnUrl,
    requests,
    sent: () => total,
    onSent: (listener) => listeners.push(listener),
    add: (fault) => faults.push({ ...fault, left: fault.times ?? 1 }),
    async close() {
      await Promise.all(
        servers.map((server) => {
          server.closeAllConnections()
          return new Promise((resolve) => server.close(resolve))
        }),
      )
    },
  }
}

async function listen(
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  port: number,
): Promise<Server> {
  const server = createServer((request, response) => {
    response.on('error', () => response.destroy())
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return server
}

function* cut(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += PIECE_BYTES) yield content.subarray(at, at + PIECE_BYTES)
}
