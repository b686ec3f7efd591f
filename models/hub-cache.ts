import { readdir, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { CATALOG, type CatalogEntry, CHECKPOINT_FILES, WEIGHTS_FILE } from './catalog.ts'
import { isCheckpointName } from './source.ts'

/** A copy of a checkpoint that lies on this machine already. */
export interface FoundCopy {
  /** Name it would be installed under. */
  name: string
  /** The published checkpoint it looks like; null: one of the user's own. */
  entry: CatalogEntry | null
  folder: string
  where: 'Hugging Face cache' | 'folder'
  repo: string | null
  /** Commit of the cache's snapshot. */
  revision: string | null
}

export interface SearchOptions {
  env?: NodeJS.ProcessEnv
  home?: string
  /** Folders the user named; each may be a checkpoint or hold some, up to two levels down. */
  folders?: readonly string[]
}

/** Where Hugging Face libraries keep their downloads, in the order they look; some may not exist. */
export function listHubCaches({ env = process.env, home = homedir() }: SearchOptions = {}): string[] {
  const places = [
    env.HF_HUB_CACHE,
    env.HUGGINGFACE_HUB_CACHE,
    env.HF_HOME && join(env.HF_HOME, 'hub'),
    env.XDG_CACHE_HOME && join(env.XDG_CACHE_HOME, 'huggingface', 'hub'),
    join(home, '.cache', 'huggingface', 'hub'),
  ]
  return [...new Set(places.filter((place) => place !== undefined && place !== ''))] as string[]
}

/**
 * Looks for checkpoints in the Hugging Face caches and the user's folders. Reads names and sizes only: digests are
 * checked when a copy is used. Of several copies of one published checkpoint the first is given.
 */
export async function findCopies(options: SearchOptions = {}): Promise<FoundCopy[]> {
  const found: FoundCopy[] = []
  for (const cache of listHubCaches(options)) {
    for (const repository of await listFolders(cache)) {
      const repo = readRepo(repository)
      if (repo === null) continue
      const snapshots = join(cache, repository, 'snapshots')
      for (const revision of await listFolders(snapshots)) {
        for (const folder of await listNested(join(snapshots, revision), 1)) {
          const copy = await recognise(folder, 'Hugging Face cache')
          const commit = /^[0-9a-f]{40}$/.test(revision) ? revision : null
          if (copy)
            found.push({ ...copy, repo, revision: commit, name: copy.entry?.name ?? nameFrom(repo, folder) })
        }
      }
    }
  }
  for (const place of options.folders ?? [])
    for (const folder of await listNested(place, 2)) {
      const copy = await recognise(folder, 'folder')
      if (copy) found.push(copy)
    }
  return found.filter(({ name }, index) => found.findIndex((other) => other.name === name) === index)
}

/** The real file of a blob with this digest in one of the caches: large files are named by their SHA-256 there. */
export async function findBlob(
  sha256: string,
  bytes: number,
  options: SearchOptions = {},
): Promise<string | null> {
  for (const cache of listHubCaches(options))
    for (const repository of await listFolders(cache)) {
      const path = join(cache, repository, 'blobs', sha256)
      const stats = await stat(path).catch(() => null)
      if (stats?.isFile() && stats.size === bytes) return realpath(path)
    }
  return null
}

/** `models--owner--name` → `owner/name`. */
function readRepo(folder: string): string | null {
  const [kind, owner, ...name] = folder.split('--')
  return kind === 'models' && owner && name.length > 0 ? `${owner}/${name.join('--')}` : null
}

function nameFrom(repo: string, folder: string): string {
  const last = basename(folder)
  const name = repo.split('/')[1]!
  // Below the snapshot's root the subfolder tells apart what one repository holds.
  const full = /^[0-9a-f]{40}$/.test(last) ? name : `${name}-${last}`
  return full.slice(0, 64)
}

async function recognise(folder: string, where: FoundCopy['where']): Promise<FoundCopy | null> {
  for (const file of CHECKPOINT_FILES)
    if (!(await stat(join(folder, file)).catch(() => null))?.isFile()) return null
  const weights = await realpath(join(folder, WEIGHTS_FILE))
  const { size } = await stat(weights)
  const entry = CATALOG.find(({ files, demo }) => {
    const known = files.find(({ path }) => path === WEIGHTS_FILE)!
    return !demo && (known.sha256 === basename(weights) || known.bytes === size)
  })
  const name = entry?.name ?? basename(folder)
  if (!entry && !isCheckpointName(name)) return null
  return { name, entry: entry ?? null, folder, where, repo: entry?.repo ?? null, revision: null }
}

async function listNested(folder: string, depth: number): Promise<string[]> {
  const below = depth > 0 ? await listFolders(folder) : []
  const nested = await Promise.all(below.map((name) => listNested(join(folder, name), depth - 1)))
  return [folder, ...nested.flat()]
}

/** Names of the folders in a folder; none when it is absent or may not be read: then nothing is found there. */
async function listFolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort()
}
