import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CATALOG, type CatalogEntry, findEntry, WEIGHTS_FILE } from './catalog.ts'
import type { DataFolders } from './data-folder.ts'
import { describeDemo, type Manifest, readManifest } from './manifest.ts'

/** One checkpoint that can be loaded, unless it has a `fault`. */
export interface Installed {
  name: string
  title: string
  aliases: string[]
  /** For `/v1/models`. */
  description: string
  /** ISO date; of an import the day it was imported. */
  releaseDate: string
  owner: string
  demo: boolean
  repo: string | null
  revision: string | null
  /** Holds `CHECKPOINT_FILES`. */
  folder: string
  /** Where `prepare` puts graphs and side files. */
  workFolder: string
  manifest: Manifest
  /** Null for a checkpoint of the user's. */
  entry: CatalogEntry | null
  fault: { code: string; sentence: string; hint?: string } | null
}

/** What lies in the checkpoints' folder: the demo first, then the published ones, then the user's own by name. */
export function readInstalled(folders: DataFolders, demoFolder: string): Installed[] {
  const demo = CATALOG.find((entry) => entry.demo)!
  const list = [describe(folders, describeDemo(demo), demoFolder, demo)]
  for (const name of existsSync(folders.checkpoints) ? readdirSync(folders.checkpoints) : []) {
    const folder = join(folders.checkpoints, name)
    const manifest = readManifest(folder)
    // A folder under another name than its manifest says was moved by hand: it is not ours to show.
    if (manifest?.name === name) list.push(describe(folders, manifest, folder, findEntry(name) ?? null))
  }
  const rank = ({ name }: Installed) => {
    const at = CATALOG.findIndex((entry) => entry.name === name)
    return at < 0 ? CATALOG.length : at
  }
  return list.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
}

function describe(
  folders: DataFolders,
  manifest: Manifest,
  folder: string,
  entry: CatalogEntry | null,
): Installed {
  const weights = manifest.files.find(({ path }) => path === WEIGHTS_FILE)?.sha256 ?? ''
  const day = new Date(manifest.installedAt).toISOString().slice(0, 10)
  return {
    name: manifest.name,
    title: entry?.title ?? manifest.name,
    aliases: entry?.aliases ?? [],
    description: entry?.description ?? `${manifest.name}, ${manifest.maxLen} tokens (added ${day})`,
    releaseDate: entry?.releaseDate ?? day,
    owner: entry?.owner ?? manifest.repo?.split('/')[0] ?? 'user',
    demo: entry?.demo ?? false,
    repo: manifest.repo ?? (entry?.demo ? entry.repo : null),
    revision: manifest.revision,
    folder,
    workFolder: join(folders.graphs, weights.slice(0, 16)),
    manifest,
    entry,
    fault: manifest.fault ?? findFault(manifest, folder),
  }
}

/** Faults that a look at names and sizes shows. */
function findFault(manifest: Manifest, folder: string): Installed['fault'] {
  for (const { path, bytes } of manifest.files) {
    const size = statSync(join(folder, path), { throwIfNoEntry: false })?.size
    if (size === bytes) continue
    const sentence =
      size === undefined ? `${path}: the file is missing.` : `${path}: ${size} bytes instead of ${bytes}.`
    return { code: 'checkpoint_unusable', sentence, hint: `Install '${manifest.name}' again.` }
  }
  return null
}
