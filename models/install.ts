import { statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Wait } from './backoff.ts'
import { bringFile, copyBlocks } from './bring.ts'
import { CATALOG, type CatalogEntry, CHECKPOINT_FILES, WEIGHTS_FILE } from './catalog.ts'
import { openCheckpoint } from './checkpoint.ts'
import type { ContentDigest } from './content.ts'
import { readPresentBytes } from './download.ts'
import { LayaError } from './errors.ts'
import { describeFiles, downloadFiles, isCommit } from './fetch-files.ts'
import { explainDiskError, readFreeBytes } from './files.ts'
import type { Hub, RemoteFile } from './hub.ts'
import { findBlob, type SearchOptions } from './hub-cache.ts'
import { inspectFiles } from './inspect.ts'
import type { Installed } from './installed.ts'
import { acquireLock } from './lock.ts'
import { createReporter, type Reporter, type ReportOptions, reportScan, type Stage } from './report.ts'
import { checkOwnName, type HubSource } from './source.ts'
import { commitStaged, contentFolder, readJob, writeJob } from './staging.ts'
import type { Store } from './store.ts'

export interface InstallOptions extends ReportOptions {
  signal?: AbortSignal
  /** Where to look for weights that are on this machine already. */
  search?: SearchOptions
  wait?: Wait
}

export interface InstallResult {
  installed: Installed
  /** How the weights came: fetched, as a second name of an existing file, as a copy of one, or they were there. */
  weights: 'fetched' | 'linked' | 'copied' | 'kept'
}

/** Room that must stay on the disk beside the files themselves. */
const SPARE_BYTES = 32 << 20

/** The Hub source of a published checkpoint. */
export function sourceOf(entry: CatalogEntry): HubSource {
  return { repo: entry.repo, revision: entry.revision ?? 'main', folder: entry.folder }
}

/**
 * Installs a checkpoint from the Hub, going on where an earlier attempt stopped. Weights that lie in a Hugging Face
 * cache are linked instead of fetched. Nothing counts as installed before every digest, the configuration, the table
 * of tensors and the weights themselves were checked.
 *
 * @throws LayaError `checkpoint_locked`, `disk_full`, `digest_mismatch`, `checkpoint_unusable`, `offline` and those
 *   of the Hub; the signal's reason when aborted. What was fetched is kept in each case.
 */
export async function installFromHub(
  store: Store,
  hub: Hub,
  name: string,
  source: HubSource,
  options: InstallOptions = {},
): Promise<InstallResult> {
  const entry = findPublished(name)
  return withLock(store, name, 'installing', isWorthKeeping, async () => {
    const present = store.find(name)
    if (present && !present.fault) return { installed: present, weights: 'kept' }
    const earlier = readJob(store, name)?.hub ?? null
    const { pinned, files } = await describeFiles(hub, source, entry, earlier, options)
    const total = files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0)
    await writeJob(store, { name, hub: pinned, total })
    const report = createReporter(total, options)
    const content = contentFolder(store, name)
    const weights = await linkWeights(files, content, report, options)
    const missing = weights ? files.filter(({ path }) => path !== WEIGHTS_FILE) : files
    let needed = 0
    for (const { path, bytes } of missing)
      needed += (bytes ?? 0) - (await readPresentBytes(join(content, path)))
    await refuseSmallRoom(store, name, needed)
    const digests = await downloadFiles(hub, missing, content, {
      signal: options.signal,
      wait: options.wait,
      onBytes: (bytes) => report.add('downloading', bytes),
      onKept: (bytes) => report.skip(bytes),
    })
    if (weights) digests.set(WEIGHTS_FILE, weights)
    const known = await inspectFiles(content, name, digests, files, {
      ...options,
      onProgress: reportScan(options),
    })
    const { repo, revision } = pinned
    const linked = weights !== null && !weights.copied
    const commit = isCommit(revision) ? revision : null
    await commitStaged(store, { ...known, repo, revision: commit, origin: 'hub', linked })
    const how = weights === null ? 'fetched' : weights.copied ? 'copied' : 'linked'
    return { installed: store.open(name), weights: how }
  })
}

export interface FolderSource {
  folder: string
  origin: 'cache' | 'folder'
  repo: string | null
  revision: string | null
}

/**
 * Installs a checkpoint from a folder on this machine; nothing is fetched. Weights are linked where the volume allows
 * it and copied otherwise; small files are copied. The folder itself stays as it is.
 *
 * @throws LayaError `checkpoint_unusable` naming the file and its fault, `digest_mismatch` when `name` is a published
 *   checkpoint and the weights are others, `invalid_checkpoint_name`, `checkpoint_exists`, `checkpoint_locked`,
 *   `disk_full`; the signal's reason when aborted.
 */
export async function installFromFolder(
  store: Store,
  name: string,
  source: FolderSource,
  options: InstallOptions = {},
): Promise<InstallResult> {
  const entry = findPublished(name)
  if (!statSync(source.folder, { throwIfNoEntry: false })?.isDirectory())
    throw new LayaError('checkpoint_unusable', `'${basename(source.folder)}' is not a folder.`, {
      hint: `Choose the folder that holds ${CHECKPOINT_FILES.join(', ')}.`,
    })
  return withLock(
    store,
    name,
    'importing',
    () => false,
    async () => {
      const present = store.find(name)
      if (present && !present.fault)
        throw new LayaError('checkpoint_exists', `'${name}' is already installed.`, {
          hint: 'Remove it first, or give the new one another name.',
        })
      const { header } = openCheckpoint(source.folder)
      await writeJob(store, { name, hub: null, total: header.fileBytes })
      const report = createReporter(header.fileBytes, options)
      const content = contentFolder(store, name)
      const digests = new Map<string, ContentDigest>()
      for (const path of CHECKPOINT_FILES)
        if (path !== WEIGHTS_FILE)
          digests.set(path, await copyBlocks(join(source.folder, path), join(content, path), options.signal))
      let stage: Stage = 'verifying'
      const weights = await bringFile(join(source.folder, WEIGHTS_FILE), join(content, WEIGHTS_FILE), {
        signal: options.signal,
        onBytes: (bytes) => report.add(stage, bytes),
        onCopy: (bytes) => {
          stage = 'copying'
          return refuseSmallRoom(store, name, bytes)
        },
      })
      digests.set(WEIGHTS_FILE, weights)
      const published = entry?.files.find(({ path }) => path === WEIGHTS_FILE)?.sha256
      if (published && weights.sha256 !== published)
        throw new LayaError(
          'digest_mismatch',
          `${WEIGHTS_FILE}: these are not the published weights of '${name}'.`,
          {
            hint: 'Import the folder under a name of your own.',
          },
        )
      const known = await inspectFiles(content, name, digests, [], {
        ...options,
        onProgress: reportScan(options),
      })
      const { repo, revision, origin } = source
      await commitStaged(store, { ...known, repo, revision, origin, linked: !weights.copied })
      return { installed: store.open(name), weights: weights.copied ? 'copied' : 'linked' }
    },
  )
}

/** The published checkpoint of that name, or undefined for a permissible name of the user's own. */
function findPublished(name: string): CatalogEntry | undefined {
  const entry = CATALOG.find((one) => one.name === name)
  if (!entry) checkOwnName(name)
  return entry
}

/** @param keeps whether what was staged is worth keeping after this failure. */
async function withLock<T>(
  store: Store,
  name: string,
  doing: string,
  keeps: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await mkdir(store.dataFolder, { recursive: true })
    const lock = await acquireLock(store.folders.locks, name, doing)
    try {
      store.refresh()
      return await work()
    } catch (error) {
      if (!keeps(error)) await rm(join(store.folders.staging, name), { recursive: true, force: true })
      throw error
    } finally {
      await lock.release()
    }
  } catch (error) {
    throw explainDiskError(error)
  }
}

/** Files that are whole and yet no checkpoint would fail in the same way for ever. */
function isWorthKeeping(error: unknown): boolean {
  return !(error instanceof LayaError && error.code === 'checkpoint_unusable')
}

/** Weights of the wanted digest from a Hugging Face cache; null when there are none, or only damaged ones. */
async function linkWeights(
  files: RemoteFile[],
  content: string,
  report: Reporter,
  { search, signal }: InstallOptions,
): Promise<(ContentDigest & { copied: boolean }) | null> {
  const wanted = files.find(({ path }) => path === WEIGHTS_FILE)
  if (!search || !wanted?.sha256 || wanted.bytes === null) return null
  const blob = await findBlob(wanted.sha256, wanted.bytes, search)
  if (blob === null) return null
  let counted = 0
  const target = join(content, WEIGHTS_FILE)
  const found = await bringFile(blob, target, {
    signal,
    onBytes: (bytes) => {
      counted += bytes
      report.add('verifying', bytes)
    },
  })
  if (found.sha256 === wanted.sha256) return found
  report.add('verifying', -counted)
  await rm(target)
  return null
}

async function refuseSmallRoom(store: Store, name: string, bytes: number): Promise<void> {
  const free = await readFreeBytes(store.dataFolder)
  if (bytes <= 0 || free >= bytes + SPARE_BYTES) return
  const megabytes = (count: number) => `${Math.ceil(count / 1e6).toLocaleString('en')} MB`
  throw new LayaError(
    'disk_full',
    `'${name}' needs ${megabytes(bytes + SPARE_BYTES)} more, and ${megabytes(free)} are free on the disk.`,
    { hint: 'Free some space and try again; what was fetched so far is kept.' },
  )
}
