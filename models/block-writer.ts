import type { FileHandle } from 'node:fs/promises'
import { BLOCK_BYTES } from './content.ts'

/** The part of a file handle that is needed, so that a test can play a full disk. */
export type BlockFile = Pick<FileHandle, 'write' | 'datasync'>

export interface BlockWriter {
  /** Whether the file, not the stream, is what failed. */
  readonly failed: boolean
  /** Takes a chunk over (copied). Waits while both blocks are full. */
  push(chunk: Uint8Array): Promise<void>
  /** Writes what is left and waits until the disk has everything. */
  finish(): Promise<void>
}

/** How much may lie in the system's cache before the disk is asked to take it, so that the end does not wait long. */
const SYNC_BYTES = 64 << 20
/** On a slow line a block takes long to fill; a killed process should not lose more than this much time. */
const LINGER_MS = 1000

/**
 * Writes a stream in blocks, one being filled while the other is written; the disk works beside the network.
 * `onBlock` sees every block once, in order, before it is written.
 *
 * @param position where in the file the stream begins.
 * @throws what the file throws, at the next push or at finish.
 */
export function createBlockWriter(
  file: BlockFile,
  position: number,
  onBlock: (block: Uint8Array) => void,
  now: () => number = Date.now,
): BlockWriter {
  let filling = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let spare = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let used = 0
  let startedAt = now()
  let writing: Promise<void> = Promise.resolve()
  let syncing: Promise<void> | null = null
  let unsynced = 0
  let failure: unknown

  const keep = (error: unknown) => {
    failure ??= error
  }

  async function writeAll(block: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < block.length; ) {
      const { bytesWritten } = await file.write(block, done, block.length - done, at + done)
      done += bytesWritten
    }
    unsynced += block.length
    if (unsynced < SYNC_BYTES || syncing) return
    unsynced = 0
    syncing = file
      .datasync()
      .catch(keep)
      .finally(() => {
        syncing = null
      })
  }

  async function flush(): Promise<void> {
    if (used === 0) return
    await writing
    if (failure) throw failure
    const block = filling.subarray(0, used)
    onBlock(block)
    writing = writeAll(block, position).catch(keep)
    position += used
    used = 0
    startedAt = now()
    const filled = filling
    filling = spare
    spare = filled
  }

  return {
    get failed() {
      return failure !== undefined
    },
    async push(chunk) {
      for (let taken = 0; taken < chunk.length; ) {
        const part = Math.min(chunk.length - taken, BLOCK_BYTES - used)
        filling.set(chunk.subarray(taken, taken + part), used)
        used += part
        taken += part
        if (used === BLOCK_BYTES) await flush()
      }
      if (used > 0 && now() - startedAt >= LINGER_MS) await flush()
    },
    async finish() {
      await flush()
      await writing
      await syncing
      if (failure) throw failure
      await file.datasync()
    },
  }
}
