import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Folders for Core ML's compiled models (accelerators.md 15). onnxruntime takes the mere existence of a folder for a
 * finished compile, also after a process was killed in the middle, and its key ignores precision, unit, version and
 * system. Therefore: one folder per key of ours, one fresh sub-folder per attempt, and `ok.json` only after success.
 */
export interface CompileKey {
  /** Digest of the graph file, which names weights, graph version, profile, length and version of onnxruntime. */
  graph: string
  engine: string
  /** Provider options, in the order given. */
  options: readonly (readonly [string, string])[]
  osBuild: string
}

export interface Compiled<T> {
  value: T
  cacheHit: boolean
  /** Where the bundle lies; null when the provider went on without a cache. */
  folder: string | null
}

const MARKER = 'ok.json'
const OWNER = 'owner.json'

export function compileKey({ graph, engine, options, osBuild }: CompileKey): string {
  return createHash('sha256')
    .update(JSON.stringify([graph, engine, options, osBuild]))
    .digest('hex')
    .slice(0, 32)
}

/**
 * Runs `compile` with a folder for its cache: a finished one where there is one, else a fresh one. A finished one that
 * does not load is deleted and compiled again, once.
 * @param isComplete whether the folder holds what the provider should have written; a provider that could not write
 *   goes on without a cache and says so in a log only.
 * @throws the error of the second attempt, or of the first where nothing was cached; its folder is deleted.
 */
export async function withCompileCache<T>(
  root: string,
  key: CompileKey,
  compile: (folder: string) => Promise<T>,
  isComplete: (folder: string) => boolean = holdsBundle,
): Promise<Compiled<T>> {
  const keyFolder = join(root, compileKey(key))
  const cached = findFinished(keyFolder)
  if (cached !== null) {
    try {
      return { value: await compile(cached), cacheHit: true, folder: cached }
    } catch {
      // Poisoned: a bundle that was damaged later, or one a system update made void. The retry reports its own error.
      rmSync(cached, { recursive: true, force: true })
    }
  }
  const attempt = createAttempt(keyFolder)
  try {
    const value = await compile(attempt)
    if (!isComplete(attempt)) {
      rmSync(attempt, { recursive: true, force: true })
      return { value, cacheHit: false, folder: null }
    }
    writeMarker(attempt, key)
    return { value, cacheHit: false, folder: attempt }
  } catch (error) {
    rmSync(attempt, { recursive: true, force: true })
    throw error
  }
}

/** The newest finished attempt. Half-written ones of processes that are gone are deleted on the way. */
function findFinished(keyFolder: string): string | null {
  const finished: { folder: string; at: number }[] = []
  for (const name of namesIn(keyFolder)) {
    const folder = join(keyFolder, name)
    const marker = readJson(join(folder, MARKER))
    if (typeof marker?.at === 'number') finished.push({ folder, at: marker.at })
    else if (!isOwned(folder)) rmSync(folder, { recursive: true, force: true })
  }
  finished.sort((a, b) => b.at - a.at)
  for (const { folder } of finished.slice(1)) rmSync(folder, { recursive: true, force: true })
  return finished[0]?.folder ?? null
}

/** A path never used before: the system's own cache of specialised models is keyed by path. */
function createAttempt(keyFolder: string): string {
  const folder = join(keyFolder, `attempt-${randomUUID()}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, OWNER), JSON.stringify({ pid: process.pid }))
  return folder
}

/** Written beside and renamed, so that the marker is never half there. */
function writeMarker(folder: string, key: CompileKey): void {
  const temporary = join(folder, `${MARKER}.partial`)
  writeFileSync(temporary, JSON.stringify({ ...key, at: Date.now() }, null, 1))
  renameSync(temporary, join(folder, MARKER))
}

/** A live process is still compiling into it. */
function isOwned(folder: string): boolean {
  const pid = readJson(join(folder, OWNER))?.pid
  if (typeof pid !== 'number' || pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** `<folder>/<key>/<id>_static_mlprogram/model/compiled_model.mlmodelc`, as the provider lays it out. */
export function holdsBundle(folder: string): boolean {
  return findBundle(folder) !== null
}

/** Path of the first compiled bundle below `folder`: what a compute plan is read from. */
export function findBundle(folder: string, depth = 4): string | null {
  for (const name of namesIn(folder)) {
    const path = join(folder, name)
    if (name.endsWith('.mlmodelc')) return path
    if (depth > 0 && statSync(path).isDirectory()) {
      const below = findBundle(path, depth - 1)
      if (below !== null) return below
    }
  }
  return null
}

/** Deletes compiled models of other graphs, versions and systems. Returns the number of folders deleted. */
export function dropStaleCompiles(root: string, current: readonly CompileKey[]): number {
  const kept = new Set(current.map(compileKey))
  let dropped = 0
  for (const name of namesIn(root)) {
    const keyFolder = join(root, name)
    if (kept.has(name) || namesIn(keyFolder).some((attempt) => isOwned(join(keyFolder, attempt)))) continue
    rmSync(keyFolder, { recursive: true, force: true })
    dropped++
  }
  return dropped
}

/**
 * A private folder for the temporary files of Core ML, emptied at start: the stock binding leaves about 1.6 GB behind
 * after a crash. Set as `TMPDIR` of the process before anything native is loaded.
 * @param name one per process that may run at the same time.
 */
export function claimTempFolder(root: string, name: string): string {
  const folder = join(root, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => statSync(folder).isDirectory() && !name.startsWith('.'))
  } catch {
    return [] // Not there, or a file: nothing is cached.
  }
}

function readJson(path: string): Record<string, unknown> | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null // Absent or damaged counts as not written.
  }
}
