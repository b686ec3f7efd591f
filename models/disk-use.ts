import { existsSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes of all files below the folders; a file with names outside of them is somebody else's too and counts 0. */
export async function measureFolders(places: string[]): Promise<number> {
  const seen = new Map<string, { bytes: number; names: number; links: number }>()
  for (const place of places) {
    const entries = existsSync(place) ? await readdir(place, { recursive: true }) : []
    for (const entry of entries) {
      const stats = await lstat(join(place, entry)).catch(() => null)
      if (!stats?.isFile()) continue
      const key = `${stats.dev}:${stats.ino}`
      const known = seen.get(key) ?? { bytes: stats.size, names: 0, links: stats.nlink }
      seen.set(key, { ...known, names: known.names + 1 })
    }
  }
  return [...seen.values()].reduce((sum, { bytes, names, links }) => sum + (links > names ? 0 : bytes), 0)
}
