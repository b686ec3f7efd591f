import { join } from 'node:path'
import { createBackoff, type Wait } from './backoff.ts'
import { type CatalogEntry, CHECKPOINT_FILES } from './catalog.ts'
import type { ContentDigest } from './content.ts'
import { downloadFile } from './download.ts'
import { LayaError } from './errors.ts'
import type { Hub, RemoteFile } from './hub.ts'
import type { HubSource } from './source.ts'

/**
 * Asks the Hub for the files of a checkpoint and pins a branch or tag to the commit it names now.
 *
 * @param earlier the commit an unfinished installation was pinned to: it goes on with that one.
 * @throws LayaError `digest_mismatch` when the Hub has another file than the one that was published, and those of `Hub`.
 */
export async function describeFiles(
  hub: Hub,
  source: HubSource,
  entry: CatalogEntry | undefined,
  earlier: HubSource | null,
  { signal, wait }: { signal?: AbortSignal; wait?: Wait },
): Promise<{ pinned: HubSource; files: RemoteFile[] }> {
  const describe = async (from: HubSource, path: string): Promise<RemoteFile> => {
    const backoff = createBackoff(signal, wait)
    for (;;) {
      try {
        return await hub.describe(from, path, signal)
      } catch (error) {
        await backoff.pause(error, false)
      }
    }
  }
  const goesOn = earlier?.repo === source.repo && earlier.folder === source.folder
  let pinned = goesOn ? earlier : source
  if (!isCommit(pinned.revision)) {
    const { commit } = await describe(source, CHECKPOINT_FILES[0])
    pinned = { ...source, revision: commit ?? source.revision }
  }
  if (isCommit(source.revision)) pinned = source
  const files = await Promise.all(
    CHECKPOINT_FILES.map(async (path) => {
      const remote = await describe(pinned, path)
      const known = entry?.files.find((file) => file.path === path)
      refuseOther(path, known?.bytes, remote.bytes)
      refuseOther(path, known?.sha256, remote.sha256)
      return {
        ...remote,
        bytes: known?.bytes ?? remote.bytes,
        sha256: known?.sha256 ?? remote.sha256,
      }
    }),
  )
  return { pinned, files }
}

/**
 * Fetches all files at once into `folder`: the small ones arrive while the weights do. The first failure stops the
 * others; what they have stays.
 */
export async function downloadFiles(
  hub: Hub,
  files: RemoteFile[],
  folder: string,
  options: {
    signal?: AbortSignal
    wait?: Wait
    onBytes: (bytes: number) => void
    onKept: (bytes: number) => void
  },
): Promise<Map<string, ContentDigest>> {
  const stop = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal
  let first: unknown
  const digests = new Map<string, ContentDigest>()
  await Promise.all(
    files.map(async (file) => {
      try {
        digests.set(file.path, await downloadFile(hub, file, join(folder, file.path), { ...options, signal }))
      } catch (error) {
        first ??= error
        stop.abort()
      }
    }),
  )
  options.signal?.throwIfAborted()
  if (first) throw first
  return digests
}

export function isCommit(revision: string): boolean {
  return /^[0-9a-f]{40}$/.test(revision)
}

function refuseOther<T>(path: string, known: T | null | undefined, found: T | null): void {
  if (known == null || found === null || known === found) return
  throw new LayaError('digest_mismatch', `'${path}' on the server is not the file that was published.`, {
    hint: 'Check the mirror in Settings.',
  })
}
