import { CATALOG, CHECKPOINT_FILES } from './catalog.ts'
import { openCheckpoint } from './checkpoint.ts'
import type { ContentDigest } from './content.ts'
import type { RemoteFile } from './hub.ts'
import type { Assurance, Manifest } from './manifest.ts'
import { scanFinite } from './safetensors.ts'

/**
 * Checks staged files as a checkpoint (configuration, table of tensors, special tokens, finite weights) and
 * describes them for the manifest.
 *
 * @param digests of the content that lies in `folder`, by path.
 * @param remote what the Hub said about the files; empty when they did not come from there.
 * @throws LayaError `checkpoint_unusable` naming file and fault.
 */
export async function inspectFiles(
  folder: string,
  name: string,
  digests: Map<string, ContentDigest>,
  remote: RemoteFile[],
  options: { signal?: AbortSignal; onProgress?: (done: number, total: number) => void; now?: () => number },
): Promise<Pick<Manifest, 'format' | 'name' | 'installedAt' | 'maxLen' | 'headMaxLen' | 'files'>> {
  const { architecture, header } = openCheckpoint(folder)
  await scanFinite(header, options)
  const published = CATALOG.find((entry) => entry.name === name)?.files
  const files = CHECKPOINT_FILES.map((path) => {
    const { bytes, sha256 } = digests.get(path)!
    const known = published?.find((file) => file.path === path)?.sha256
    return { path, bytes, sha256, assurance: known ? 'published digest' : assure(remote, path) }
  })
  const { maxLen, headMaxLen } = architecture
  return { format: 1, name, installedAt: (options.now ?? Date.now)(), maxLen, headMaxLen, files }
}

function assure(remote: RemoteFile[], path: string): Assurance {
  const file = remote.find((one) => one.path === path)
  if (file?.sha256 || file?.gitSha1) return 'Hub digest'
  return file?.bytes != null ? 'size only' : 'nothing'
}
