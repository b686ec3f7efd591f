import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LayaError } from './errors.ts'
import { syncFolder, writeJson } from './files.ts'
import { acquireLock, findHolder } from './lock.ts'
import { MANIFEST_FILE, type Manifest, readManifest, writeManifest } from './manifest.ts'
import { type HubSource, isCheckpointName } from './source.ts'
import type { Store } from './store.ts'

/** What is known about an installation that is not finished, kept beside its files. */
export interface Job {
  name: string
  /** Null when it comes from a folder. */
  hub: HubSource | null
  /** Bytes of the whole, 0 while not known. */
  total: number
  /** Why it stopped, when it did not just pause. */
  error?: { code: string; sentence: string; hint?: string }
}

const JOB_FILE = 'job.json'

/** Folder in which the files of `name` gather; it becomes the checkpoint's folder by one rename. */
export function contentFolder(store: Store, name: string): string {
  return join(store.folders.staging, name, 'content')
}

export function readJob(store: Store, name: string): Job | null {
  try {
    const job = JSON.parse(readFileSync(join(store.folders.staging, name, JOB_FILE), 'utf8')) as Job
    return job.name === name && typeof job.total === 'number' ? job : null
  } catch {
    // Absent or cut off: the download can still go on, it only has to ask the Hub again.
    return null
  }
}

export async function writeJob(store: Store, job: Job): Promise<void> {
  await writeJson(join(store.folders.staging, job.name, JOB_FILE), job)
}

/** Installations that were begun and are not finished, running or not. */
export function listJobs(store: Store): Job[] {
  return listStaged(store).flatMap((name) => readJob(store, name) ?? [])
}

function listStaged({ folders }: Store): string[] {
  return existsSync(folders.staging) ? readdirSync(folders.staging).filter(isCheckpointName) : []
}

/**
 * Throws away what was staged for `name`; an installed checkpoint of that name stays.
 * @throws LayaError `checkpoint_locked` while somebody works on it.
 */
export async function discardStaged(store: Store, name: string): Promise<void> {
  if (!isCheckpointName(name)) return
  const lock = await acquireLock(store.folders.locks, name, 'discarding')
  try {
    await rm(join(store.folders.staging, name), { recursive: true, force: true })
  } finally {
    await lock.release()
  }
}

/** Removes what a killed import left: unlike a download it has nothing that is worth going on with. */
export async function sweepStaging(store: Store): Promise<void> {
  for (const name of listStaged(store)) {
    if (readJob(store, name)?.hub || (await findHolder(store.folders.locks, name))) continue
    await discardStaged(store, name)
  }
}

/**
 * Turns verified staged files into the checkpoint `manifest.name`: manifest last, then one rename. A broken
 * checkpoint of that name is replaced. The caller holds the lock.
 *
 * @throws LayaError `storage_failed` when files of somebody else are in the way.
 */
export async function commitStaged(store: Store, manifest: Manifest): Promise<void> {
  const content = contentFolder(store, manifest.name)
  const target = join(store.folders.checkpoints, manifest.name)
  await writeManifest(content, manifest)
  if (existsSync(target)) {
    const old = readManifest(target)
    const own = new Set([...(old?.files ?? []).map(({ path }) => path), MANIFEST_FILE, '.DS_Store'])
    const strange = readdirSync(target, { recursive: true, withFileTypes: true }).filter(
      (entry) =>
        !entry.isDirectory() && !own.has(join(entry.parentPath, entry.name).slice(target.length + 1)),
    )
    if (strange[0])
      throw new LayaError(
        'storage_failed',
        `The folder of '${manifest.name}' holds files that Laya Bar did not write, such as '${strange[0].name}'.`,
        { hint: 'Move them elsewhere and install again; nothing has to be fetched again.' },
      )
    await rm(target, { recursive: true })
  }
  await syncFolder(content)
  await mkdir(store.folders.checkpoints, { recursive: true })
  await rename(content, target)
  await syncFolder(store.folders.checkpoints)
  await rm(join(store.folders.staging, manifest.name), { recursive: true, force: true })
  store.refresh()
}
