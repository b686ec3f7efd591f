/** What the panel's page consists of, by file name ending. Nothing else is ever served as part of it. */
const MIME: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['svg', 'image/svg+xml'],
  ['png', 'image/png'],
  ['woff2', 'font/woff2'],
])

export interface Asset {
  /** Relative to the bundle's folder, `/`-separated, without `..`. */
  path: string
  type: string
}

/**
 * The file a URL path names, or `null` for everything that cannot be a file of the bundle: traversal in any
 * encoding, hidden files, control characters, unknown kinds.
 *
 * @param pathname as it stands in the URL, percent-encoded.
 */
export function assetOf(pathname: string): Asset | null {
  let decoded: string
  try {
    decoded = decodeURIComponent(pathname)
  } catch {
    return null
  }
  const path = decoded === '/' ? 'index.html' : decoded.slice(1)
  if (!decoded.startsWith('/') || !/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(path)) return null
  const type = MIME.get(path.slice(path.lastIndexOf('.') + 1))
  return type === undefined ? null : { path, type }
}

/**
 * Headers of every file of the panel. Recharts and React set styles through the object model, so that the policy
 * needs no 'unsafe-inline'.
 *
 * @param connect `none` inside the app, where everything goes through IPC; `self` where the service serves the panel.
 */
export function assetHeaders(type: string, connect: 'none' | 'self'): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src '${connect}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join('; ')
  return {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    // The files of a new version have the same names and must be seen at once.
    'cache-control': 'no-cache',
  }
}
