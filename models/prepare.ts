import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checkpoint } from './checkpoint.ts'
import { readBlocks } from './content.ts'
import { explainDiskError, readJson, writeJson } from './files.ts'
import { writeGraph } from './graph/laya.ts'
import {
  FIXED_SHAPES,
  GRAPH_VERSION,
  getProfile,
  graphFile,
  type ProfileName,
  sideFileName,
  WEIGHTS_FILE,
} from './graph/profile.ts'
import { sideFileBytes, writeSideFile } from './graph/side-file.ts'
import type { SideEntry } from './graph/weights.ts'

export interface PrepareRequest {
  checkpoint: Pick<Checkpoint, 'architecture' | 'header'>
  /** One folder per checkpoint; created when absent. */
  workFolder: string
  /** sha256 of `model.safetensors`. */
  digest: string
  /** Version of onnxruntime: its compile cache must not outlive it. */
  runtime: string
  profiles: ProfileName[]
  signal?: AbortSignal
  /** Bytes written so far and in all. */
  onProgress?: (done: number, total: number) => void
}

/** One file of the work folder, and how it is made. */
interface Product {
  name: string
  bytes: number
  /** Bytes that have to be written: none for a link. */
  work: number
  /** Changes with anything the content depends on. */
  key: string
  write(path: string, onBytes: (bytes: number) => void): Promise<void>
}

interface Manifest {
  version: number
  digest: string
  /** Key of each finished file. */
  files: Record<string, string>
}

const MANIFEST = 'graphs.json'

const DRAFT_AGE_MS = 3_600_000

/**
 * Brings a checkpoint's work folder up to date for some profiles: a hard link to the weights (a copy where linking is
 * impossible), the graphs, the side files. What is there and current is left alone; a changed `GRAPH_VERSION` or other
 * weights replace everything. Each file appears whole or not at all.
 * @returns names of the files that were written.
 * @throws LayaError `disk_full`, `storage_failed`, `checkpoint_unusable`; the signal's reason when aborted.
 */
export async function prepareGraphs(request: PrepareRequest): Promise<string[]> {
  const { workFolder, digest, signal, onProgress } = request
  try {
    await mkdir(workFolder, { recursive: true })
    const manifest = await readManifest(workFolder, digest)
    await removeLeftovers(workFolder, manifest)
    const products = [await describeWeights(request), ...listProducts(request)]
    const missing: Product[] = []
    for (const product of products) {
      if (!(await isCurrent(workFolder, product, manifest))) missing.push(product)
    }
    const total = missing.reduce((sum, product) => sum + product.work, 0)
    let done = 0
    for (const product of missing) {
      signal?.throwIfAborted()
      await replaceFile(join(workFolder, product.name), (draft) =>
        product.write(draft, (bytes) => {
          done += bytes
          onProgress?.(done, total)
        }),
      )
      manifest.files[product.name] = product.key
      await writeJson(join(workFolder, MANIFEST), manifest)
    }
    return missing.map((product) => product.name)
  } catch (error) {
    throw explainDiskError(error)
  }
}

function listProducts({ checkpoint, digest, runtime, profiles, signal }: PrepareRequest): Product[] {
  const source = { ...checkpoint, identity: `${digest} ${runtime}` }
  const products = new Map<string, Product>()
  for (const profile of profiles.map(getProfile)) {
    const lengths = profile.lengths === 'fixed' ? FIXED_SHAPES.map((shape) => shape.length) : [undefined]
    for (const length of lengths) {
      const { bytes, side } = writeGraph(source, profile, length)
      const name = graphFile(profile, length)
      products.set(name, {
        name,
        bytes: bytes.length,
        work: bytes.length,
        key: createHash('sha256').update(bytes).digest('hex'),
        write: (path, onBytes) => writeBytes(path, bytes, onBytes),
      })
      if (side.length > 0) products.set(sideFileName(profile), describeSide(sideFileName(profile), side))
    }
  }
  return [...products.values()]

  function describeSide(name: string, side: SideEntry[]): Product {
    const bytes = sideFileBytes(side)
    return {
      name,
      bytes,
      work: bytes,
      key: createHash('sha256').update(JSON.stringify(side)).digest('hex'),
      write: (path, onBytes) => writeSideFile(checkpoint.header, side, path, { signal, onBytes }),
    }
  }
}

async function describeWeights({ checkpoint, workFolder, signal }: PrepareRequest): Promise<Product> {
  const source = checkpoint.header.path
  const { ino, dev, size, mtimeMs } = await stat(source)
  const sameVolume = (await stat(workFolder)).dev === dev
  return {
    name: WEIGHTS_FILE,
    bytes: size,
    work: sameVolume ? 0 : size,
    // The same name may have got other content since: an inode and a time tell at once, a digest would take seconds.
    key: `${dev} ${ino} ${size} ${mtimeMs}`,
    async write(path, onBytes) {
      // Onnxruntime refuses weights outside the graph's folder, also through a symbolic link.
      await link(source, path)
        .catch(() => copyFile(source, path, constants.COPYFILE_FICLONE_FORCE))
        .catch(async () => {
          await rm(path, { force: true })
          await copyBytes(source, path, sameVolume ? () => {} : onBytes, signal)
        })
    },
  }
}

async function copyBytes(
  source: string,
  target: string,
  onBytes: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const handle = await open(target, 'wx')
  try {
    const visit = async (block: Uint8Array) => {
      await handle.write(block)
      onBytes(block.length)
    }
    await readBlocks(source, visit, { signal })
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function writeBytes(path: string, bytes: Uint8Array, onBytes: (bytes: number) => void): Promise<void> {
  const handle = await open(path, 'wx')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
  onBytes(bytes.length)
}

async function replaceFile(path: string, write: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}.draft`
  try {
    await write(draft)
    await rename(draft, path)
  } finally {
    // Renaming one link onto another link of the same file succeeds and leaves both.
    await rm(draft, { force: true })
  }
}

/** Drafts of a process that was killed, and files of another version or other weights. */
async function removeLeftovers(folder: string, manifest: Manifest): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    if (name.endsWith('.draft')) {
      const found = await stat(path).catch(() => null)
      // A younger one may belong to another process that is at work.
      if (found !== null && Date.now() - found.mtimeMs > DRAFT_AGE_MS) await rm(path, { force: true })
    } else if (/^laya-.*\.(onnx|weights)$/.test(name) && manifest.files[name] === undefined) {
      await rm(path, { force: true })
    }
  }
}

async function isCurrent(
  folder: string,
  { name, bytes, key }: Product,
  manifest: Manifest,
): Promise<boolean> {
  if (manifest.files[name] !== key) return false
  const found = await stat(join(folder, name)).catch(() => null)
  return found?.size === bytes
}

async function readManifest(folder: string, digest: string): Promise<Manifest> {
  const found = (await readJson(join(folder, MANIFEST))) as Partial<Manifest> | undefined
  const files = found?.version === GRAPH_VERSION && found.digest === digest ? found.files : undefined
  return { version: GRAPH_VERSION, digest, files: { ...files } }
}
