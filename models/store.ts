import { existsSync, statSync } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { WEIGHTS_FILE } from './catalog.ts'
import { openCheckpoint } from './checkpoint.ts'
import { digestFile } from './content.ts'
import { type DataFolders, findDataFolder, findDemoFolder, listDataFolders } from './data-folder.ts'
import { measureFolders } from './disk-use.ts'
import { LayaError } from './errors.ts'
import { type Installed, readInstalled } from './installed.ts'
import { acquireLock } from './lock.ts'
import { MANIFEST_FILE, type Manifest, writeManifest } from './manifest.ts'
import { scanFinite } from './safetensors.ts'
import { isCheckpointName } from './source.ts'

export interface Removal {
  /** Bytes that the disk got back. */
  bytes: number
  /** Files in the checkpoint's folder that Laya Bar did not write; they stay. */
  left: string[]
}

export interface VerifyOptions {
  signal?: AbortSignal
  onProgress?: (done: number, total: number) => void
}

export interface Store {
  readonly dataFolder: string
  readonly folders: DataFolders
  /** The demo first, then the published ones, then the user's own by name. Broken ones carry their fault. */
  list(): Installed[]
  find(nameOrAlias: string): Installed | undefined
  /** @throws LayaError `checkpoint_not_installed`, or `checkpoint_unusable` with the fault of a broken one. */
  open(nameOrAlias: string): Installed
  /** Bytes that removing it would free: a file that also belongs to somebody else counts nothing. */
  measure(name: string): Promise<number>
  /**
   * Reads every byte again: digests, configuration, table of tensors, finite weights. The outcome is kept: a
   * checkpoint that fails is broken until a later verification or installation succeeds.
   *
   * @throws LayaError `checkpoint_unusable` naming file and fault, `checkpoint_locked`.
   */
  verify(name: string, options?: VerifyOptions): Promise<void>
  /** Removes everything Laya Bar wrote for it, and nothing else. Works on broken and half-installed ones too. */
  remove(name: string): Promise<Removal>
  /** Makes the next `list` look at the disk. */
  refresh(): void
}

export interface StoreOptions {
  dataFolder?: string
  demoFolder?: string
  now?: () => number
}

const LIST_AGE_MS = 2000

/** The checkpoints of one data folder, shared with every other process that uses the same folder. */
export function createStore(options: StoreOptions = {}): Store {
  const dataFolder = options.dataFolder ?? findDataFolder()
  const demoFolder = options.demoFolder ?? findDemoFolder()
  const now = options.now ?? Date.now
  const folders = listDataFolders(dataFolder)
  let cached: { list: Installed[]; at: number; changed: number } | undefined

  const store: Store = {
    dataFolder,
    folders,
    list() {
      const changed = statSync(folders.checkpoints, { throwIfNoEntry: false })?.mtimeMs ?? 0
      if (!cached || cached.changed !== changed || now() - cached.at >= LIST_AGE_MS)
        cached = { list: readInstalled(folders, demoFolder), at: now(), changed }
      return cached.list
    },
    find: (nameOrAlias) =>
      store.list().find(({ name, aliases }) => name === nameOrAlias || aliases.includes(nameOrAlias)),
    open(nameOrAlias) {
      const installed = store.find(nameOrAlias)
      if (!installed)
        throw new LayaError('checkpoint_not_installed', `'${nameOrAlias}' is not installed.`, {
          hint: `Installed: ${store
            .list()
            .map(({ name }) => name)
            .join(', ')}.`,
        })
      if (installed.fault)
        throw new LayaError('checkpoint_unusable', installed.fault.sentence, { hint: installed.fault.hint })
      return installed
    },
    async measure(name) {
      const installed = store.find(name)
      const places = isCheckpointName(name) ? [join(folders.staging, name)] : []
      if (installed && !installed.demo) places.push(installed.folder)
      if (installed && !isShared(installed)) places.push(installed.workFolder)
      return measureFolders(places)
    },
    async verify(name, { signal, onProgress } = {}) {
      const installed = store.find(name)
      if (!installed) {
        store.open(name)
        return
      }
      const lock = await acquireLock(folders.locks, installed.name, 'verifying')
      try {
        await check(installed, signal, onProgress)
        await keep(installed, undefined)
      } catch (error) {
        const fault = error instanceof LayaError && error.code === 'checkpoint_unusable'
        if (fault)
          await keep(installed, { code: error.code, sentence: error.message, hint: error.details.hint })
        throw error
      } finally {
        store.refresh()
        await lock.release()
      }
    },
    async remove(name) {
      const real = store.find(name)?.name ?? name
      if (store.find(name)?.demo)
        throw new LayaError('checkpoint_not_removable', 'The demo checkpoint is part of Laya Bar.', {
          hint: 'It takes no space of its own beside the program.',
        })
      // Only a name can become part of a path that is deleted.
      if (!isCheckpointName(real)) store.open(name)
      const lock = await acquireLock(folders.locks, real, 'removing')
      try {
        store.refresh()
        const installed = store.find(real)
        const staging = join(folders.staging, real)
        if (!installed && !existsSync(staging)) store.open(name)
        const bytes = await store.measure(real)
        const shared = !installed || isShared(installed)
        const left = installed ? await removeFiles(installed) : []
        if (!shared) await rm(installed.workFolder, { recursive: true, force: true })
        await rm(staging, { recursive: true, force: true })
        return { bytes, left }
      } finally {
        store.refresh()
        await lock.release()
      }
    },
    refresh() {
      cached = undefined
    },
  }
  return store

  function isShared({ name, workFolder }: Installed): boolean {
    return store.list().some((other) => other.name !== name && other.workFolder === workFolder)
  }

  async function keep(installed: Installed, fault: Manifest['fault']): Promise<void> {
    const known = JSON.stringify(installed.manifest.fault) === JSON.stringify(fault)
    if (installed.demo || known) return
    await writeManifest(installed.folder, { ...installed.manifest, fault })
  }
}

async function check(
  { manifest, folder, name }: Installed,
  signal: AbortSignal | undefined,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<void> {
  const weights = manifest.files.find(({ path }) => path === WEIGHTS_FILE)?.bytes ?? 0
  const sizes = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0)
  const total = sizes + weights
  let done = 0
  const hint = `Install '${name}' again.`
  const onBytes = (bytes: number) => {
    done += bytes
    onProgress(done, total)
  }
  for (const { path, sha256 } of manifest.files) {
    const digest = await digestFile(join(folder, path), { signal, onBytes }).catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw new LayaError('checkpoint_unusable', `${path}: the file cannot be read.`, { cause, hint })
    })
    if (digest.sha256 !== sha256)
      throw new LayaError('checkpoint_unusable', `${path}: the file does not match its digest.`, { hint })
  }
  const { header } = openCheckpoint(folder)
  await scanFinite(header, { signal, onProgress: (scanned) => onProgress(sizes + scanned, total) })
  onProgress(total, total)
}

/** Deletes what the manifest lists, the manifest last: a half-removed checkpoint can be removed again. */
async function removeFiles({ folder, manifest }: Installed): Promise<string[]> {
  const own = manifest.files.map(({ path }) => path)
  for (const path of [...own, '.DS_Store', MANIFEST_FILE]) await rm(join(folder, path), { force: true })
  const parents = new Set(own.map(dirname).filter((path) => path !== '.'))
  for (const path of [...parents, '']) await rmdir(join(folder, path)).catch(ignoreUsed)
  return existsSync(folder) ? (await readdir(folder, { recursive: true })).sort() : []
}

function ignoreUsed(error: NodeJS.ErrnoException): void {
  if (!['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(error.code ?? '')) throw error
}
