import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readFile, rename, rm, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LayaError } from './errors.ts'

/** Makes the names in a folder survive a power cut. Folders cannot be opened everywhere; then there is nothing to do. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined
  try {
    handle = await open(folder, 'r')
    await handle.sync()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (!['EISDIR', 'EINVAL', 'EPERM', 'EACCES', 'ENOTSUP'].includes(code)) throw error
  } finally {
    await handle?.close()
  }
}

/** Writes JSON so that a reader sees the old file or the new one, never a part, also after a power cut. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`
  try {
    const handle = await open(draft, 'wx')
    try {
      await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** The JSON in `path`; undefined when the file is absent or not JSON. */
export async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Bytes an ordinary user can still write on the volume of `folder`. */
export async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return bavail * bsize
}

/** An error of the file system as a sentence with a next step; other errors pass as they are. */
export function explainDiskError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
    return new LayaError('disk_full', 'The disk is full.', {
      cause: error,
      hint: 'What was fetched so far is kept. Free some space and resume.',
    })
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new LayaError('storage_failed', 'The data folder of Laya Bar cannot be written.', {
      cause: error,
      hint: 'Check its owner and permissions, or set LAYA_BAR_HOME to another folder.',
    })
  if (code === 'EIO' || code === 'ENXIO' || code === 'ENODEV')
    return new LayaError('storage_failed', `The disk reports an error (${code}).`, {
      cause: error,
      hint: 'Check the disk. Then verify the checkpoint or install it again.',
    })
  return error
}
