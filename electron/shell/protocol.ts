import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CustomScheme, Session } from 'electron'
import { assetHeaders, assetOf } from '../domain/assets.ts'

export const SCHEME = 'app'
/** The one page there is. */
export const PANEL_URL = `${SCHEME}://panel/`

/** Known to Chromium before `ready`: a scheme with an origin of its own, treated as secure, without fetch. */
export const PRIVILEGES: CustomScheme = {
  scheme: SCHEME,
  privileges: { standard: true, secure: true, codeCache: true },
}

/** Answers requests for files of the bundle in `root`; everything else is 404, whatever it looks like. */
export function createFileHandler(root: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const url = new URL(request.url)
    const asset = url.protocol === `${SCHEME}:` && url.host === 'panel' ? assetOf(url.pathname) : null
    if (asset === null || request.method !== 'GET') return refuse(404)
    try {
      const body = await readFile(join(root, ...asset.path.split('/')))
      return new Response(new Uint8Array(body), { headers: assetHeaders(asset.type, 'none') })
    } catch {
      return refuse(404)
    }
  }
}

function refuse(status: number): Response {
  return new Response('Not found', { status, headers: assetHeaders('text/plain; charset=utf-8', 'none') })
}

/** The page may ask for nothing and reach nothing but its own files, whatever code should ever run in it. */
export function harden(session: Session): void {
  session.setPermissionRequestHandler((_contents, _permission, answer) => answer(false))
  session.setPermissionCheckHandler(() => false)
  session.setDevicePermissionHandler(() => false)
  session.webRequest.onBeforeRequest(({ url }, answer) => {
    // data: images and the developer tools of an unpackaged run are the page's own.
    answer({ cancel: !/^(app:\/\/panel\/|data:|devtools:|blob:devtools:)/.test(url) })
  })
}
