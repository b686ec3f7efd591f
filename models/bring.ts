import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, realpath, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createBlockWriter } from './block-writer.ts'
import { type ContentDigest, createContentCheck, digestFile, readBlocks } from './content.ts'

export interface BringOptions {
  signal?: AbortSignal
  onBytes?: (bytes: number) => void
  /** Called once, before the first byte is copied because the file cannot be linked. */
  onCopy?: (bytes: number) => Promise<void> | void
}

/**
 * Gives a file of somebody else a second name at `target`: a hard link, because onnxruntime refuses weights behind a
 * symbolic link. Where the volume cannot link, the content is copied, as a clone where the file system has that.
 *
 * @returns the digest of the content and whether a copy was made.
 */
export async function bringFile(
  source: string,
  target: string,
  { signal, onBytes = () => {}, onCopy }: BringOptions = {},
): Promise<ContentDigest & { copied: boolean }> {
  const real = await realpath(source)
  await mkdir(dirname(target), { recursive: true })
  await rm(target, { force: true })
  if (await tries(() => link(real, target)))
    return { ...(await digestFile(target, { signal, onBytes })), copied: false }
  if (await tries(() => copyFile(real, target, constants.COPYFILE_FICLONE_FORCE)))
    return { ...(await digestFile(target, { signal, onBytes })), copied: false }
  await onCopy?.((await stat(real)).size)
  return { ...(await copyBlocks(real, target, signal, onBytes)), copied: true }
}

/** Copies in blocks, digesting on the way; what arrives on the disk is what was digested. */
export async function copyBlocks(
  source: string,
  target: string,
  signal?: AbortSignal,
  onBytes: (bytes: number) => void = () => {},
): Promise<ContentDigest> {
  const check = createContentCheck()
  await mkdir(dirname(target), { recursive: true })
  const file = await open(target, 'w')
  try {
    const writer = createBlockWriter(file, 0, (block) => {
      check.update(block)
      onBytes(block.length)
    })
    await readBlocks(source, (block) => writer.push(block), { signal })
    await writer.finish()
    return check.finish()
  } finally {
    await file.close()
  }
}

/** False when the volumes do not allow it; every other failure is one. */
async function tries(action: () => Promise<void>): Promise<boolean> {
  try {
    await action()
    return true
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (
      ['EXDEV', 'EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'ENOSYS', 'EINVAL', 'ENOTTY'].includes(
        code,
      )
    )
      return false
    throw error
  }
}
