import { excerpt, LayaError } from '../../models/errors.ts'

export type Route =
  | 'systemone'
  | 'batch'
  | 'models'
  | 'livez'
  | 'readyz'
  | 'health'
  | 'metrics'
  | 'openapi'
  | 'root'
  | 'panel'

/** What is known of a request when its headers are complete. Header names in lower case, as Node gives them. */
export interface Arrival {
  method: string
  /** Request target as it was sent. */
  url: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** More than one Host header is never right. */
  hosts: number
}

export interface Access {
  allowedOrigins: readonly string[]
  /** `null` = no token is asked for. */
  tokenMatches: ((presented: string) => boolean) | null
  /** Headless mode: `/assets/*` and `/panel/*` exist, and the page of this very origin may call `/panel/*`. */
  panel: boolean
  /** For sentences: `http://127.0.0.1:5292`. */
  base: string
}

export interface Passage {
  route: Route
  /** Without query and trailing slash. */
  path: string
  /** False only on `/health`, which then answers its short form. */
  authorized: boolean
  /** A preflight that is to be answered with 204. */
  preflight: boolean
}

const PATHS: Record<string, Route> = {
  '/v1/systemone': 'systemone',
  '/v1/systemone/batch': 'batch',
  '/v1/models': 'models',
  '/livez': 'livez',
  '/readyz': 'readyz',
  '/health': 'health',
  '/metrics': 'metrics',
  '/openapi.json': 'openapi',
  '/': 'root',
}
const NEEDS_TOKEN: ReadonlySet<Route> = new Set<Route>(['systemone', 'batch', 'models', 'metrics'])

function methodsOf(route: Route): string {
  if (route === 'panel') return 'GET, HEAD, POST'
  return route === 'systemone' || route === 'batch' ? 'POST' : 'GET, HEAD'
}

/** Value of the header `Allow` of a 405. */
export function allowOf(arrival: Arrival, access: Access): string {
  return methodsOf(findRoute(splitTarget(arrival.url).path, access))
}

/**
 * Everything that can be refused before a body is read, in the order of http-api.md 4.5: Host, route and method,
 * Origin, token, content type.
 *
 * @throws LayaError `forbidden_host`, `not_found`, `method_not_allowed`, `forbidden_origin`, `unauthorized` or
 * `unsupported_media_type`.
 */
export function guard(arrival: Arrival, access: Access): Passage {
  const { authority, path } = splitTarget(arrival.url)
  checkHost(arrival, authority)
  const route = findRoute(path, access)
  const preflight = checkMethod(arrival, route, path)
  checkOrigin(arrival, route, path, access, preflight)
  const passage = { route, path, authorized: true, preflight }
  if (preflight) return passage
  passage.authorized = access.tokenMatches === null || access.tokenMatches(bearer(arrival))
  if (!passage.authorized && NEEDS_TOKEN.has(route)) {
    throw new LayaError('unauthorized', 'invalid or missing bearer token')
  }
  if (route === 'systemone' || route === 'batch') checkContent(arrival)
  return passage
}

/** The Origin of a page on the user's list: its replies, errors included, must be readable to it. */
export function listedOrigin(arrival: Arrival, access: Access): string | null {
  const origin = header(arrival, 'origin')
  return origin !== undefined && origin !== 'null' && access.allowedOrigins.includes(origin) ? origin : null
}

function header({ headers }: Arrival, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** The absolute form (`GET http://host/path`) is legal; its authority has to be as local as the Host header's. */
function splitTarget(url: string): { authority: string | null; path: string } {
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/is.exec(url)
  const target = absolute === null ? url : absolute[2]!
  const path = target.split(/[?#]/, 1)[0]!
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return { authority: absolute === null ? null : absolute[1]!, path: trimmed === '' ? '/' : trimmed }
}

function checkHost(arrival: Arrival, authority: string | null): void {
  const host = header(arrival, 'host') ?? ''
  if (arrival.hosts === 1 && isLocal(host) && (authority === null || isLocal(authority))) return
  const said =
    arrival.hosts > 1
      ? 'there was more than one Host header'
      : host === ''
        ? 'there was no Host header'
        : `the Host header said '${excerpt(isLocal(host) ? authority! : host)}'`
  throw new LayaError('forbidden_host', `this server answers only requests addressed to localhost; ${said}`)
}

/** A name that only this machine can mean. Any other may have been pointed here by someone else's DNS. */
function isLocal(host: string): boolean {
  const name = host.replace(/:\d{0,5}$/, '').toLowerCase()
  if (name === 'localhost' || name === 'localhost.' || name === '[::1]') return true
  const parts = name.split('.')
  return (
    parts.length === 4 && parts[0] === '127' && parts.every((part) => /^\d{1,3}$/.test(part) && +part <= 255)
  )
}

function findRoute(path: string, { panel, base }: Access): Route {
  if (Object.hasOwn(PATHS, path)) return PATHS[path]!
  if (panel && (path.startsWith('/panel/') || path.startsWith('/assets/'))) return 'panel'
  const sentence = `no such route; decisions are POST ${base}/v1/systemone`
  const doubled = path === '/systemone' || path.startsWith('/v1/v1') || /^\/v1\/systemone\/.*v1/.test(path)
  throw new LayaError(
    'not_found',
    sentence,
    doubled
      ? {
          hint: `the base URL is ${base} for TypeSafe SDKs, which add /v1 themselves, and ${base}/v1 for the Vercel AI SDK and OpenRouter`,
        }
      : {},
  )
}

/** @returns whether this is a preflight. */
function checkMethod(arrival: Arrival, route: Route, path: string): boolean {
  const allow = methodsOf(route)
  if (allow.split(', ').includes(arrival.method)) return false
  if (
    arrival.method === 'OPTIONS' &&
    header(arrival, 'origin') !== undefined &&
    header(arrival, 'access-control-request-method') !== undefined
  ) {
    return true
  }
  throw new LayaError('method_not_allowed', `use ${allow.split(',')[0]} for ${path}`)
}

function checkOrigin(arrival: Arrival, route: Route, path: string, access: Access, preflight: boolean): void {
  const origin = header(arrival, 'origin')
  if (origin !== undefined) {
    if (listedOrigin(arrival, access) !== null) return
    const own = origin === `http://${header(arrival, 'host')}`
    if (own && access.panel && path.startsWith('/panel/') && !preflight) return
    throw new LayaError(
      'forbidden_origin',
      `requests from the web page '${excerpt(origin)}' are not allowed; add its origin in Settings, Allowed origins`,
    )
  }
  const site = header(arrival, 'sec-fetch-site')
  if (site !== 'cross-site' && site !== 'same-site') return
  // A link to the panel on another page is followed by the user; nothing is computed for it.
  const navigation =
    header(arrival, 'sec-fetch-mode') === 'navigate' && header(arrival, 'sec-fetch-dest') === 'document'
  if (route === 'root' && navigation) return
  throw new LayaError(
    'forbidden_origin',
    'requests from other web pages are not allowed; add the origin of the page in Settings, Allowed origins',
  )
}

function bearer(arrival: Arrival): string {
  return /^bearer +(.*)$/i.exec(header(arrival, 'authorization') ?? '')?.[1]?.trim() ?? ''
}

/** JSON only, so that no page can reach the model with a "simple" request that needs no preflight. */
function checkContent(arrival: Arrival): void {
  const encoding = header(arrival, 'content-encoding')
  if (encoding !== undefined && encoding.trim() !== '' && encoding.trim().toLowerCase() !== 'identity') {
    throw new LayaError('unsupported_media_type', 'compressed request bodies are not accepted')
  }
  const sent = header(arrival, 'content-type') ?? ''
  const [type, ...parameters] = sent.split(';').map((part) => part.trim().toLowerCase())
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice(8)
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset)
  if (isUtf8 && /^application\/(json|[^/\s]+\+json)$/.test(type!)) return
  throw new LayaError(
    'unsupported_media_type',
    sent === ''
      ? 'send Content-Type: application/json (there was none)'
      : `send Content-Type: application/json (got '${excerpt(sent)}')`,
  )
}
