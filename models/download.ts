import { constants } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createBackoff, type Wait } from './backoff.ts'
import { createBlockWriter } from './block-writer.ts'
import {
  type ContentCheck,
  type ContentDigest,
  createContentCheck,
  digestFile,
  readBlocks,
} from './content.ts'
import { LayaError } from './errors.ts'
import { explainDiskError, readJson, syncFolder, writeJson } from './files.ts'
import type { Hub, RemoteBody, RemoteFile } from './hub.ts'
import { describeCause, TransientHubError } from './hub-errors.ts'

export interface DownloadOptions {
  signal?: AbortSignal
  /** Bytes that have become present (negative: that had to be thrown away). */
  onBytes?: (bytes: number) => void
  /** Bytes that were there before this call. */
  onKept?: (bytes: number) => void
  /** Waits between attempts; injected by tests. */
  wait?: Wait
}

/** What the partial file belongs to: without it nothing says that the rest still fits. */
interface PartialNote {
  url: string
  etag: string | null
  total: number | null
}

/** A server that changes the file or cannot resume would otherwise be asked for ever. */
const MOST_RESTARTS = 5

/** How far a download that is not running has come, for a panel that looks at it from outside. */
export async function readPresentBytes(target: string): Promise<number> {
  for (const path of [target, `${target}.partial`]) {
    const size = await stat(path).then(
      (found) => found.size,
      () => null,
    )
    if (size !== null) return size
  }
  return 0
}

/**
 * Fetches one file to `target`, going on where an earlier call, also of another process, stopped. While it is not
 * whole and verified the content lies in `<target>.partial`; `target` itself appears by a rename.
 *
 * @param expected digests and size that the content must have; `null` members are not checked.
 * @throws LayaError `digest_mismatch`, `disk_full`, `storage_failed`, `offline` and those of `Hub`; the signal's
 *   reason when aborted, with everything kept that was fetched.
 */
export async function downloadFile(
  hub: Hub,
  expected: RemoteFile,
  target: string,
  options: DownloadOptions = {},
): Promise<ContentDigest> {
  const { signal, onBytes = () => {}, onKept = () => {} } = options
  const partial = `${target}.partial`
  const notePath = `${partial}.json`
  try {
    await mkdir(dirname(target), { recursive: true })
    const kept = await recheck(target, expected, onKept, signal)
    if (kept) return kept
    let fresh = false
    for (;;) {
      const resumed = await transfer()
      const digest = resumed.check.finish()
      const fault = compare(expected, digest)
      if (!fault) {
        await rename(partial, target)
        await rm(notePath, { force: true })
        await syncFolder(dirname(target))
        return digest
      }
      onBytes(-digest.bytes)
      await rm(partial, { force: true })
      await rm(notePath, { force: true })
      // Pieces of different origin do not fit together; a file from one piece that is wrong stays wrong.
      if (!resumed.fromPieces || fresh) throw fault
      fresh = true
    }
  } catch (error) {
    throw explainDiskError(error)
  }

  async function transfer(): Promise<{ check: ContentCheck; fromPieces: boolean }> {
    let check = createContentCheck(expected.gitSha1 === null ? null : expected.bytes)
    let note = (await readJson(notePath)) as PartialNote | undefined
    const file = await open(partial, constants.O_RDWR | constants.O_CREAT)
    let fromPieces = false
    const backoff = createBackoff(signal, options.wait)
    let restarts = 0
    const startOver = async () => {
      if (++restarts > MOST_RESTARTS)
        throw new LayaError('hub_error', `'${expected.path}' had to be started over too often.`, {
          hint: 'The server changes the file or cannot go on where it stopped. Check the mirror in Settings, or try later.',
        })
      onBytes(-check.bytes)
      check = createContentCheck(expected.gitSha1 === null ? null : expected.bytes)
      await file.truncate(0)
    }
    try {
      if (note?.url !== expected.url) await file.truncate(0)
      const { size } = await file.stat()
      if (size > 0) {
        await readBlocks(
          partial,
          (block) => {
            check.update(block)
            onKept(block.length)
          },
          { signal },
        )
      }
      for (;;) {
        const before = check.bytes
        try {
          if (expected.bytes !== null && check.bytes > expected.bytes) await startOver()
          if (expected.bytes !== null && check.bytes === expected.bytes) return { check, fromPieces }
          const answer = await hub.open(expected, check.bytes, note?.etag ?? null, signal)
          if (answer.status === 416) {
            answer.body.destroy()
            // The server has nothing after our last byte: either we have it all, or it is another file.
            if (expected.bytes === null && note?.total === check.bytes) return { check, fromPieces }
            await startOver()
            throw new TransientHubError('The server says that the file is shorter than what was fetched.')
          }
          if (!continues(answer, check.bytes, note)) {
            if (answer.from !== 0) answer.body.destroy()
            await startOver()
            note = undefined
            if (answer.from !== 0) throw new TransientHubError('The file changed on the server.')
          }
          fromPieces = check.bytes > 0
          note = { url: expected.url, etag: answer.etag, total: answer.total }
          refuseOtherSize(answer, expected)
          await writeJson(notePath, note)
          await receive(answer)
          const total = expected.bytes ?? note.total
          if (total === null || check.bytes === total) return { check, fromPieces }
          throw new TransientHubError(`The answer ended after ${check.bytes} of ${total} bytes.`)
        } catch (error) {
          await backoff.pause(error, check.bytes > before)
        }
      }
    } finally {
      await file.close()
    }

    async function receive(answer: RemoteBody): Promise<void> {
      const writer = createBlockWriter(file, check.bytes, (block) => {
        check.update(block)
        onBytes(block.length)
      })
      const { body } = answer
      let lost: unknown
      try {
        for await (const chunk of body) await writer.push(chunk as Uint8Array)
      } catch (error) {
        body.destroy()
        if (writer.failed) throw error
        lost = error
      }
      // What did arrive is kept, also when the line broke or the user paused.
      await writer.finish()
      signal?.throwIfAborted()
      if (lost)
        throw new TransientHubError(`The download was interrupted: ${describeCause(lost)}.`, null, lost)
    }
  }
}

/** Whether the body goes on exactly where the partial file ends, in the same version of the file. */
function continues(answer: RemoteBody, have: number, note: PartialNote | undefined): boolean {
  if (have === 0) return answer.from === 0
  if (answer.status !== 206 || answer.from !== have) return false
  return note?.etag == null || answer.etag === null || answer.etag === note.etag
}

function refuseOtherSize(answer: RemoteBody, expected: RemoteFile): void {
  if (answer.total === null || expected.bytes === null || answer.total === expected.bytes) return
  answer.body.destroy()
  throw new LayaError(
    'digest_mismatch',
    `'${expected.path}' has ${answer.total} bytes on the server; ${expected.bytes} are expected.`,
    { hint: 'The server has another file than the one that was published. Check the mirror in Settings.' },
  )
}

function compare(expected: RemoteFile, found: ContentDigest): LayaError | null {
  const wrong =
    (expected.bytes !== null && expected.bytes !== found.bytes) ||
    (expected.sha256 !== null && expected.sha256 !== found.sha256) ||
    (expected.gitSha1 !== null && found.gitSha1 !== null && expected.gitSha1 !== found.gitSha1)
  if (!wrong) return null
  return new LayaError('digest_mismatch', `'${expected.path}' does not match its digest.`, {
    hint: 'Download again. If it happens again, the server or a proxy changes the file: check the mirror in Settings.',
  })
}

/** A target that is already there was verified before its rename; it is checked again, because time has passed. */
async function recheck(
  target: string,
  expected: RemoteFile,
  onKept: (bytes: number) => void,
  signal: AbortSignal | undefined,
): Promise<ContentDigest | null> {
  const size = await stat(target).then(
    (found) => found.size,
    () => null,
  )
  if (size === null) return null
  const git = expected.gitSha1 === null ? null : expected.bytes
  const digest = await digestFile(target, { onBytes: onKept, signal, git })
  if (!compare(expected, digest)) return digest
  onKept(-digest.bytes)
  await rm(target)
  return null
}
