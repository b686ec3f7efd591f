import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CatalogEntry, WEIGHTS_FILE } from './catalog.ts'
import { writeJson } from './files.ts'

/** Against what a file was compared when it came: nothing is claimed beyond that. */
export type Assurance = 'published digest' | 'Hub digest' | 'size only' | 'nothing'

export interface ManifestFile {
  path: string
  bytes: number
  /** SHA-256 of the content at installation. */
  sha256: string
  assurance: Assurance
}

/** What we know about an installed checkpoint. Written last: a folder without it is not a checkpoint. */
export interface Manifest {
  format: 1
  name: string
  /** Hub id, null for a folder of the user's. */
  repo: string | null
  /** Commit on the Hub, null when it is not known. */
  revision: string | null
  origin: 'hub' | 'cache' | 'folder'
  /** Epoch milliseconds. */
  installedAt: number
  maxLen: number
  headMaxLen: number
  files: ManifestFile[]
  /** The weights are a second name of a file that belongs to somebody else: no second copy on the disk. */
  linked: boolean
  /** Why the checkpoint must not be loaded, found by a later verification. */
  fault?: { code: string; sentence: string; hint?: string }
}

export const MANIFEST_FILE = 'laya-bar.json'

/** The manifest of a folder, null when there is none or it is not one of ours. */
export function readManifest(folder: string): Manifest | null {
  try {
    const value = JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8')) as Manifest
    const whole =
      value.format === 1 &&
      typeof value.name === 'string' &&
      Array.isArray(value.files) &&
      value.files.some(({ path }) => path === WEIGHTS_FILE) &&
      value.files.every(
        ({ path, bytes, sha256 }) => isInside(path) && bytes >= 0 && /^[0-9a-f]{64}$/.test(sha256),
      )
    return whole ? value : null
  } catch {
    // Absent, unreadable or cut off: in each case it vouches for nothing.
    return null
  }
}

/** A manifest names files to be removed: it must never lead out of its folder. */
function isInside(path: unknown): boolean {
  return (
    typeof path === 'string' && path !== '' && !path.startsWith('/') && !path.split(/[\\/]/).includes('..')
  )
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeJson(join(folder, MANIFEST_FILE), manifest)
}

/** The manifest the embedded demo would have: it is installed with the program. */
export function describeDemo(entry: CatalogEntry): Manifest {
  return {
    format: 1,
    name: entry.name,
    repo: null,
    revision: null,
    origin: 'folder',
    installedAt: Date.parse(entry.releaseDate),
    maxLen: entry.maxLen,
    headMaxLen: entry.headMaxLen,
    files: entry.files.map(({ path, bytes, sha256 }) => ({
      path,
      bytes: bytes!,
      sha256: sha256!,
      assurance: 'published digest',
    })),
    linked: true,
  }
}
