import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { Agent, type Dispatcher, EnvHttpProxyAgent, ProxyAgent, request } from 'undici'
import { LayaError } from './errors.ts'
import { describeCause, refuse, SILENCE_TIMEOUT_MS, TransientHubError } from './hub-errors.ts'
import type { HubSource } from './source.ts'

export interface HubOptions {
  /** Mirror from the settings; wins over `HF_ENDPOINT`. */
  endpoint?: string | null
  /** Proxy from the settings; wins over `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
  proxy?: string | null
  /** True: every call fails before a socket is opened. */
  offline?: boolean
  env?: NodeJS.ProcessEnv
  home?: string
}

/** What the Hub says about one file before it is fetched. */
export interface RemoteFile {
  path: string
  url: string
  bytes: number | null
  /** SHA-256 of the content: the Hub names large files so. */
  sha256: string | null
  /** SHA-1 of `blob <size>\0<content>`: the Hub names small files so. */
  gitSha1: string | null
  commit: string | null
}

export interface RemoteBody {
  status: number
  /** Validator for `If-Range`; null when the server gave none or a weak one. */
  etag: string | null
  /** First byte of the body within the file. */
  from: number
  /** Bytes of the whole file, when the server says so. */
  total: number | null
  body: Readable
}

export interface Hub {
  readonly endpoint: string
  /** Asks for size and digest of one file. Throws LayaError `hub_forbidden`, `hub_not_found`, `hub_unreachable`, `offline`. */
  describe(source: HubSource, path: string, signal?: AbortSignal): Promise<RemoteFile>
  /**
   * Opens the body of a file, from byte `from` when the file still has the validator `etag`.
   * Status 416 is answered like any other: the caller knows what it asked for.
   */
  open(file: RemoteFile, from: number, etag: string | null, signal?: AbortSignal): Promise<RemoteBody>
  close(): Promise<void>
}

const HEADERS_TIMEOUT_MS = 30_000
const MAX_REDIRECTS = 8

/** The user's Hub token from its standard places, or null. Never logged, never part of an error. */
export function readToken(env: NodeJS.ProcessEnv, home: string): string | null {
  const direct = env.HF_TOKEN ?? env.HUGGING_FACE_HUB_TOKEN
  if (direct?.trim()) return direct.trim()
  const root = env.HF_HOME ?? join(env.XDG_CACHE_HOME ?? join(home, '.cache'), 'huggingface')
  try {
    return readFileSync(env.HF_TOKEN_PATH ?? join(root, 'token'), 'utf8').trim() || null
  } catch {
    // No file, or none we may read: then there is no token.
    return null
  }
}

function isTrue(value: string | undefined): boolean {
  return value !== undefined && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase())
}

function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127\./.test(url.hostname)
}

function createDispatcher(options: HubOptions, env: NodeJS.ProcessEnv): Dispatcher {
  const common = {
    connect: { timeout: HEADERS_TIMEOUT_MS },
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: SILENCE_TIMEOUT_MS,
  }
  if (options.proxy) return new ProxyAgent({ ...common, uri: options.proxy })
  const httpProxy = env.http_proxy ?? env.HTTP_PROXY
  const httpsProxy = env.https_proxy ?? env.HTTPS_PROXY
  if (!httpProxy && !httpsProxy) return new Agent(common)
  const noProxy = env.no_proxy ?? env.NO_PROXY ?? ''
  return new EnvHttpProxyAgent({
    ...common,
    noProxy,
    ...(httpProxy && { httpProxy }),
    ...(httpsProxy && { httpsProxy }),
  })
}

function readOne(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function readDigests(etag: string | undefined): { sha256: string | null; gitSha1: string | null } {
  const hex = etag?.replace(/^W\//, '').replaceAll('"', '').toLowerCase() ?? ''
  return {
    sha256: /^[0-9a-f]{64}$/.test(hex) ? hex : null,
    gitSha1: /^[0-9a-f]{40}$/.test(hex) ? hex : null,
  }
}

function readSize(value: string | undefined): number | null {
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : null
}

/**
 * Access to a Hugging Face Hub or a mirror of it. Opens no socket before the first call. The token is sent only
 * after the Hub refused a request without one, only to the Hub's own origin, and only over TLS or loopback.
 */
export function createHub(options: HubOptions = {}): Hub {
  const env = options.env ?? process.env
  const given = options.endpoint || env.HF_ENDPOINT || 'https://huggingface.co'
  const offline = options.offline === true || isTrue(env.HF_HUB_OFFLINE)
  let endpoint: URL
  try {
    endpoint = new URL(given)
    if (endpoint.protocol !== 'https:' && endpoint.protocol !== 'http:') throw new Error('not http')
  } catch (cause) {
    throw new LayaError('invalid_setting', `The mirror '${given}' is not an http or https address.`, {
      cause,
      hint: 'Correct it in Settings or in HF_ENDPOINT.',
    })
  }
  const base = endpoint.href.replace(/\/+$/, '')
  let dispatcher: Dispatcher | undefined
  let tokenWanted = false

  async function send(
    method: 'GET' | 'HEAD',
    start: string,
    file: string,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ) {
    if (offline)
      throw new LayaError('offline', 'Offline is on: nothing is downloaded.', {
        hint: 'Turn it off in Settings, or install from a folder.',
      })
    dispatcher ??= createDispatcher(options, env)
    let url = new URL(start)
    let linked: Record<string, string | undefined> = {}
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const trusted = url.origin === endpoint.origin && (url.protocol === 'https:' || isLoopback(url))
      const token = trusted && tokenWanted ? readToken(env, options.home ?? homedir()) : null
      const answer = await request(url, {
        dispatcher,
        method,
        signal,
        headers: {
          'user-agent': 'laya-bar',
          'accept-encoding': 'identity',
          ...headers,
          ...(token && { authorization: `Bearer ${token}` }),
        },
      }).catch((cause: unknown) => {
        signal?.throwIfAborted()
        throw new TransientHubError(`${url.host} cannot be reached: ${describeCause(cause)}.`, null, cause)
      })
      const status = answer.statusCode
      const header = (name: string) => readOne(answer.headers[name])
      // The Hub describes a large file on its own redirect; the content network knows less.
      if (url.origin === endpoint.origin)
        linked = {
          etag: header('x-linked-etag') ?? linked.etag,
          size: header('x-linked-size') ?? linked.size,
          commit: header('x-repo-commit') ?? linked.commit,
        }
      const location = header('location')
      if (status >= 300 && status < 400 && location) {
        await answer.body.dump()
        const next = new URL(location, url)
        const described = method === 'HEAD' && next.origin !== endpoint.origin && linked.size !== undefined
        if (described) return { answer, header, linked, url }
        if (url.protocol === 'https:' && next.protocol !== 'https:')
          throw new LayaError('hub_error', `${url.host} redirects to an address without encryption.`, {
            hint: 'Check the mirror and the proxy in Settings.',
          })
        url = next
        continue
      }
      if (status === 200 || status === 206 || status === 416) return { answer, header, linked, url }
      await answer.body.dump()
      const refused = status === 401 || status === 403 || status === 404
      if (refused && trusted && !tokenWanted && readToken(env, options.home ?? homedir()) !== null) {
        tokenWanted = true
        continue
      }
      const seconds = readSize(header('retry-after'))
      const waitMs = seconds === null ? null : seconds * 1000
      refuse(file, { status, url, waitMs, sentToken: token !== null }, endpoint)
    }
    throw new LayaError('hub_error', `${endpoint.host} redirects in circles.`, {
      hint: 'Check the mirror and the proxy in Settings.',
    })
  }

  return {
    endpoint: base,
    async describe(source, path, signal) {
      const inside = [source.folder, path].filter(Boolean).join('/')
      const encoded = inside.split('/').map(encodeURIComponent).join('/')
      const url = `${base}/${source.repo}/resolve/${encodeURIComponent(source.revision)}/${encoded}`
      const { answer, header, linked } = await send('HEAD', url, inside, {}, signal)
      await answer.body.dump()
      return {
        path,
        url,
        bytes: readSize(linked.size) ?? readSize(header('content-length')),
        ...readDigests(linked.etag ?? header('etag')),
        commit: linked.commit ?? null,
      }
    },
    async open({ url, path }, from, etag, signal) {
      const range: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {}
      if (from > 0 && etag) range['if-range'] = etag
      const { answer, header } = await send('GET', url, path, range, signal)
      // A body that is dropped on purpose reports its own abortion; readers of the body still see every error.
      answer.body.on('error', () => {})
      const tag = header('etag')
      const span = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(header('content-range') ?? '')
      const length = readSize(header('content-length'))
      return {
        status: answer.statusCode,
        etag: tag && !tag.startsWith('W/') ? tag : null,
        from: answer.statusCode === 206 ? Number(span?.[1] ?? Number.NaN) : 0,
        total: answer.statusCode === 206 ? readSize(span?.[2]) : length,
        body: answer.body,
      }
    },
    close: async () => dispatcher?.destroy(),
  }
}
