import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'

export interface ContentDigest {
  bytes: number
  sha256: string
  /** Only when it was asked for. */
  gitSha1: string | null
}

/** Digests of a byte stream, fed in order. */
export interface ContentCheck {
  readonly bytes: number
  update(chunk: Uint8Array): void
  finish(): ContentDigest
}

/** @param gitBytes size of the file when git's SHA-1 is wanted too: git hashes the size before the content. */
export function createContentCheck(gitBytes: number | null = null): ContentCheck {
  const sha256 = createHash('sha256')
  const git = gitBytes === null ? null : createHash('sha1').update(`blob ${gitBytes}\0`)
  let bytes = 0
  return {
    get bytes() {
      return bytes
    },
    update(chunk) {
      bytes += chunk.length
      sha256.update(chunk)
      git?.update(chunk)
    },
    finish: () => ({ bytes, sha256: sha256.digest('hex'), gitSha1: git?.digest('hex') ?? null }),
  }
}

/** Block of a file that is read, hashed or written in one go; two of them are all the memory a transfer needs. */
export const BLOCK_BYTES = 1 << 20

/** Calls `visit` for the first `length` bytes of a file, block by block. The block is reused: copy what must stay. */
export async function readBlocks(
  path: string,
  visit: (block: Uint8Array) => void | Promise<void>,
  { length = Number.POSITIVE_INFINITY, signal }: { length?: number; signal?: AbortSignal } = {},
): Promise<void> {
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  const handle = await open(path, 'r')
  try {
    for (let position = 0; position < length; ) {
      signal?.throwIfAborted()
      const wanted = Math.min(BLOCK_BYTES, length - position)
      const { bytesRead } = await handle.read(block, 0, wanted, position)
      if (bytesRead === 0) return
      await visit(block.subarray(0, bytesRead))
      position += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** SHA-256 and size of a file. */
export async function digestFile(
  path: string,
  {
    onBytes,
    signal,
    git = null,
  }: { onBytes?: (bytes: number) => void; signal?: AbortSignal; git?: number | null } = {},
): Promise<ContentDigest> {
  const check = createContentCheck(git)
  await readBlocks(
    path,
    (block) => {
      check.update(block)
      onBytes?.(block.length)
    },
    { signal },
  )
  return check.finish()
}
