import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Parts that start on their own: the engine's thread, the throw-away trial process, the installer's thread. */
export type EntryName = 'worker' | 'trial' | 'installer'

/**
 * Finds an entry: the TypeScript source beside this file (tests, `npx tsx`), or its bundle in `dist/service/`.
 * Throws when the bundles were built without it: a service without its engine cannot run.
 */
export function locateEntry(name: EntryName, from: string = import.meta.url): URL {
  if (from.endsWith('.ts')) return new URL(`./${name}.ts`, from)
  for (const place of [`./${name}.js`, `../service/${name}.js`]) {
    const url = new URL(place, from)
    if (existsSync(url)) return url
  }
  throw new Error(`${name}.js is missing beside the service's bundle; build the bundles again`)
}

export const isSource = (url: URL): boolean => url.pathname.endsWith('.ts')

/** Text for `new Worker(text, {eval: true})`: a worker does not get module hooks from `execArgv --import`. */
export function sourceWorkerText(url: URL): string {
  const api = new URL('./esm/api/index.mjs', tsxLoader()).href
  return `import(${JSON.stringify(api)}).then(({ register }) => { register(); return import(${JSON.stringify(url.href)}) })`
}

/** `execArgv` of a child process whose entry is a TypeScript source. */
export const sourceExecArgv = (): string[] => ['--import', tsxLoader().href]

const tsxLoader = (): URL => pathToFileURL(createRequire(import.meta.url).resolve('tsx'))
