import { describe, expect, it } from 'vitest'
import type { LayaError } from '../../models/errors.ts'
import { type Access, type Arrival, allowOf, guard, listedOrigin } from './guard.ts'

const page = 'https://tools.example'
const access: Access = {
  allowedOrigins: [page],
  tokenMatches: null,
  panel: false,
  base: 'http://127.0.0.1:5292',
}
const json = { 'content-type': 'application/json' }

function arrival(method: string, url: string, headers: Arrival['headers'] = {}, hosts = 1): Arrival {
  return { method, url, headers: { host: '127.0.0.1:5292', ...headers }, hosts }
}
const post = (headers: Arrival['headers'] = json) => arrival('POST', '/v1/systemone', headers)

function refusal(request: Arrival, policy: Partial<Access> = {}): string {
  try {
    guard(request, { ...access, ...policy })
    return 'allowed'
  } catch (error) {
    return (error as LayaError).code
  }
}

function sentence(request: Arrival, policy: Partial<Access> = {}): string {
  try {
    guard(request, { ...access, ...policy })
    return 'allowed'
  } catch (error) {
    const { message, details } = error as LayaError
    return details.hint === undefined ? message : `${message}; ${details.hint}`
  }
}

describe('Host', () => {
  it.each([
    'localhost',
    'LocalHost:5292',
    'localhost.',
    'localhost.:80',
    '127.0.0.1',
    '127.0.0.1:9999',
    '127.9.8.7',
    '[::1]',
    '[::1]:5292',
  ])('%s is this machine', (host) => expect(refusal(post({ ...json, host }))).toBe('allowed'))

  it.each([
    '',
    'rebind.example',
    'rebind.example:5292',
    'localhost.example',
    '127.0.0.1.example',
    '127.0.0.1@example',
    '127.1',
    '127.0.0.256',
    '0.0.0.0',
    '192.168.0.7:5292',
    '[::]',
    '::1',
    '[::ffff:127.0.0.1]',
    'localhost..',
    'localhost:99999999',
    ' localhost',
  ])("'%s' is not", (host) => {
    for (const url of ['/v1/models', '/livez', '/', '/nowhere'])
      expect(refusal(arrival('GET', url, { host }))).toBe('forbidden_host')
  })

  it('says what it saw', () => {
    expect(sentence(post({ ...json, host: 'rebind.example' }))).toBe(
      "this server answers only requests addressed to localhost; the Host header said 'rebind.example'",
    )
    expect(sentence(post({ ...json, host: undefined }))).toContain('there was no Host header')
    expect(sentence(arrival('GET', '/livez', {}, 2))).toContain('more than one Host header')
    expect(sentence(post({ ...json, host: `a\u0007${'x'.repeat(300)}` }))).toMatch(/said 'a\\u0007x{62}…'$/)
  })

  it('holds for the authority of the absolute form too', () => {
    expect(refusal(arrival('GET', 'http://localhost:1/livez'))).toBe('allowed')
    expect(sentence(arrival('GET', 'http://rebind.example/livez'))).toContain("'rebind.example'")
  })
})

describe('route and method', () => {
  it.each([
    ['POST', '/v1/systemone', 'systemone'],
    ['POST', '/v1/systemone/', 'systemone'],
    ['POST', '/v1/systemone?x=1', 'systemone'],
    ['POST', '/v1/systemone/batch', 'batch'],
    ['GET', '/v1/models', 'models'],
    ['HEAD', '/v1/models', 'models'],
    ['GET', '/livez', 'livez'],
    ['GET', '/readyz', 'readyz'],
    ['GET', '/health', 'health'],
    ['GET', '/metrics', 'metrics'],
    ['GET', '/openapi.json', 'openapi'],
    ['GET', '/', 'root'],
    ['GET', '/?utm=1', 'root'],
  ])('%s %s', (method, url, route) => expect(guard(arrival(method, url, json), access).route).toBe(route))

  it.each([
    '/v1',
    '/v1/systemone//',
    '//v1/systemone',
    '/V1/systemone',
    '/v1/decisions',
    '/panel/state',
    '*',
  ])('%s is not a route', (url) => expect(refusal(arrival('POST', url, json))).toBe('not_found'))

  it.each(['/v1/v1/systemone', '/systemone', '/v1/systemone/v1/systemone'])(
    '%s is told the base URL',
    (url) => {
      expect(sentence(arrival('POST', url, json))).toBe(
        'no such route; decisions are POST http://127.0.0.1:5292/v1/systemone; the base URL is http://127.0.0.1:5292 for TypeSafe SDKs, which add /v1 themselves, and http://127.0.0.1:5292/v1 for the Vercel AI SDK and OpenRouter',
      )
    },
  )

  it('the panel exists only in headless mode', () => {
    for (const url of ['/panel/state', '/assets/app.js'])
      expect(guard(arrival('GET', url), { ...access, panel: true })).toMatchObject({
        route: 'panel',
        path: url,
      })
  })

  it('names the methods that work', () => {
    expect(sentence(arrival('GET', '/v1/systemone'))).toBe('use POST for /v1/systemone')
    expect(sentence(arrival('DELETE', '/v1/models/'))).toBe('use GET for /v1/models')
    expect(refusal(arrival('OPTIONS', '/v1/systemone'))).toBe('method_not_allowed')
    expect(allowOf(arrival('GET', '/v1/systemone'), access)).toBe('POST')
    expect(allowOf(arrival('POST', '/health?x'), access)).toBe('GET, HEAD')
  })
})

describe('Origin', () => {
  it('a listed page may call, and nobody else that says it is a page', () => {
    expect(refusal(post({ ...json, origin: page }))).toBe('allowed')
    for (const origin of [
      'null',
      '',
      'https://evil.example',
      `${page}/`,
      `${page}.evil.example`,
      'https://TOOLS.example',
    ]) {
      expect(refusal(post({ ...json, origin }))).toBe('forbidden_origin')
      expect(refusal(arrival('GET', '/livez', { origin }))).toBe('forbidden_origin')
    }
    expect(refusal(post({ ...json, origin: 'null' }), { allowedOrigins: ['null'] })).toBe('forbidden_origin')
    expect(listedOrigin(post({ origin: page }), access)).toBe(page)
    expect(listedOrigin(post({ origin: 'https://evil.example' }), access)).toBeNull()
  })

  it('its own origin is good for the headless panel alone', () => {
    const own = { origin: 'http://127.0.0.1:5292', ...json }
    const headless = { panel: true }
    expect(refusal(arrival('POST', '/panel/command', own), headless)).toBe('allowed')
    expect(refusal(arrival('POST', '/v1/systemone', own), headless)).toBe('forbidden_origin')
    expect(refusal(arrival('POST', '/panel/command', { origin: 'http://127.0.0.1:3000' }), headless)).toBe(
      'forbidden_origin',
    )
  })

  it('fetch metadata counts where no Origin is sent', () => {
    for (const site of ['cross-site', 'same-site'])
      expect(refusal(arrival('GET', '/v1/models', { 'sec-fetch-site': site }))).toBe('forbidden_origin')
    for (const site of ['same-origin', 'none'])
      expect(refusal(arrival('GET', '/v1/models', { 'sec-fetch-site': site }))).toBe('allowed')
    // Node's fetch sends this and is no browser.
    expect(refusal(post({ ...json, 'sec-fetch-mode': 'cors' }))).toBe('allowed')
    expect(refusal(post({ ...json, 'sec-fetch-site': 'cross-site', origin: page }))).toBe('allowed')
  })

  it('a link to the front page may be followed', () => {
    const link = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    }
    expect(refusal(arrival('GET', '/', link))).toBe('allowed')
    expect(refusal(arrival('GET', '/health', link))).toBe('forbidden_origin')
    expect(refusal(arrival('GET', '/', { ...link, 'sec-fetch-dest': 'iframe' }))).toBe('forbidden_origin')
  })

  it('a preflight is answered for a listed page only', () => {
    const ask = { 'access-control-request-method': 'POST' }
    expect(guard(arrival('OPTIONS', '/v1/systemone', { ...ask, origin: page }), access).preflight).toBe(true)
    expect(refusal(arrival('OPTIONS', '/v1/systemone', { ...ask, origin: 'https://evil.example' }))).toBe(
      'forbidden_origin',
    )
    const own = { ...ask, origin: 'http://127.0.0.1:5292' }
    expect(refusal(arrival('OPTIONS', '/panel/command', own), { panel: true })).toBe('forbidden_origin')
  })
})

describe('token', () => {
  const locked: Partial<Access> = { tokenMatches: (presented) => presented === 'secret' }

  it('is asked for where decisions and facts are given out', () => {
    for (const [method, url] of [
      ['POST', '/v1/systemone'],
      ['POST', '/v1/systemone/batch'],
      ['GET', '/v1/models'],
      ['GET', '/metrics'],
    ] as const) {
      expect(refusal(arrival(method, url, json), locked)).toBe('unauthorized')
      for (const authorization of ['Bearer wrong', 'Bearer', 'Basic secret', 'secret', 'Bearer  '])
        expect(refusal(arrival(method, url, { ...json, authorization }), locked)).toBe('unauthorized')
      for (const authorization of ['Bearer secret', 'bearer secret', 'BEARER   secret'])
        expect(refusal(arrival(method, url, { ...json, authorization }), locked)).toBe('allowed')
    }
  })

  it('is not asked for on the routes of watchers', () => {
    for (const url of ['/livez', '/readyz', '/openapi.json', '/'])
      expect(refusal(arrival('GET', url), locked)).toBe('allowed')
    expect(guard(arrival('GET', '/health'), { ...access, ...locked }).authorized).toBe(false)
    expect(guard(arrival('GET', '/health'), access).authorized).toBe(true)
  })

  it('any Authorization is fine where none is asked for', () => {
    expect(refusal(post({ ...json, authorization: 'Bearer local' }))).toBe('allowed')
  })
})

describe('content type', () => {
  it.each([
    'application/json',
    'Application/JSON; Charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/problem+json',
    'application/vnd.example+json; version=1',
  ])('%s is JSON', (type) => expect(refusal(post({ 'content-type': type }))).toBe('allowed'))

  it.each([
    undefined,
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
    'application/jsonp',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'text/plain, application/json',
  ])('%s is not', (type) => expect(refusal(post({ 'content-type': type }))).toBe('unsupported_media_type'))

  it('says what to send', () => {
    expect(sentence(post({ 'content-type': 'text/plain' }))).toBe(
      "send Content-Type: application/json (got 'text/plain')",
    )
    expect(sentence(post({}))).toBe('send Content-Type: application/json (there was none)')
  })

  it('compression is refused', () => {
    expect(sentence(post({ ...json, 'content-encoding': 'gzip' }))).toBe(
      'compressed request bodies are not accepted',
    )
    expect(refusal(post({ ...json, 'content-encoding': 'Identity' }))).toBe('allowed')
  })
})

it('checks in the order of the contract: Host, route, method, Origin, token, content', () => {
  const faults: [string, Arrival['headers'], string, string][] = [
    ['/nowhere', { host: 'x', origin: 'x' }, 'POST', 'forbidden_host'],
    ['/nowhere', { origin: 'x' }, 'GET', 'not_found'],
    ['/v1/systemone', { origin: 'x' }, 'GET', 'method_not_allowed'],
    ['/v1/systemone', { origin: 'x' }, 'POST', 'forbidden_origin'],
    ['/v1/systemone', {}, 'POST', 'unauthorized'],
    ['/v1/systemone', { authorization: 'Bearer ok' }, 'POST', 'unsupported_media_type'],
  ]
  for (const [url, headers, method, code] of faults)
    expect(refusal(arrival(method, url, headers), { tokenMatches: (token) => token === 'ok' })).toBe(code)
})
