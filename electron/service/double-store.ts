import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CATALOG } from '../../models/catalog.ts'
import { LayaError } from '../../models/errors.ts'
import type { Installed } from '../../models/installed.ts'
import type { Store } from '../../models/store.ts'
import type { Engine, EngineThread } from '../engine/engine.ts'
import { createFakeEncoder, createFakeEngine } from '../engine/fake.ts'
import type { EngineChoice, EnginePolicy } from './engines.ts'

// For tests only: checkpoints that exist by name alone, threads that die on request.

const demoFolder = fileURLToPath(new URL('../../models/demo', import.meta.url))

export interface DoubleStore extends Pick<Store, 'list' | 'find' | 'open'> {
  add(name: string): void
  delete(name: string): void
  /** What is found wrong with it from now on. */
  spoil(name: string, sentence: string): void
}

export function createDoubleStore(names: string[], bytes = 10_000_000): DoubleStore {
  const list = new Map<string, Installed>()
  const entry = CATALOG[0]!
  const store: DoubleStore = {
    add(name) {
      list.set(name, {
        name,
        title: name,
        aliases: [`${name}-alias`],
        description: name,
        releaseDate: '2026-09-18',
        owner: 'user',
        demo: false,
        repo: null,
        revision: null,
        folder: demoFolder,
        workFolder: join(demoFolder, 'graphs', name),
        manifest: {
          ...({} as Installed['manifest']),
          name,
          files: [{ path: 'model.safetensors', bytes, sha256: name, assurance: 'published digest' }],
        },
        entry,
        fault: null,
      })
    },
    delete: (name) => void list.delete(name),
    spoil(name, sentence) {
      list.get(name)!.fault = { code: 'checkpoint_unusable', sentence }
    },
    list: () => [...list.values()],
    find: (wanted) => store.list().find(({ name, aliases }) => name === wanted || aliases.includes(wanted)),
    open(wanted) {
      const found = store.find(wanted)
      if (found === undefined)
        throw new LayaError('checkpoint_not_installed', `'${wanted}' is not installed.`)
      if (found.fault) throw new LayaError(found.fault.code, found.fault.sentence)
      return found
    },
  }
  for (const name of names) store.add(name)
  return store
}

export const cpuChoice = (name: string, engine: 'cpu' | 'webgpu' = 'cpu'): EngineChoice => ({
  spec: {
    engine,
    profile: engine === 'cpu' ? 'cpu-fp32' : 'gpu-fp32',
    precision: 'float32',
    checkpointFolder: demoFolder,
    workFolder: name,
  },
  report: {
    requested: 'auto',
    requireDevice: false,
    active: engine === 'cpu' ? 'cpu' : 'gpu',
    engine,
    precision: 'float32',
    proof: ['assignment'],
    why: 'For a test.',
  },
})

export const cpuPolicy: EnginePolicy = {
  choose: async (installed) => cpuChoice(installed.name),
  improve: async () => null,
}

export interface DoubleThread extends EngineThread {
  /** The checkpoint's name, once an engine was opened. */
  name(): string | undefined
  die(): void
  /** Answers with other numbers from now on, as a device does after a reset. */
  sicken(): void
  readonly closed: boolean
}

/** @param open awaited before an engine opens; throws to make it fail. */
export function createDoubleThread(open: (name: string) => Promise<void> = async () => {}): DoubleThread {
  let settle: (error: Error) => void = () => {}
  let name: string | undefined
  let dead = false
  let closed = false
  let sick = false
  const died = new Promise<Error>((resolve) => {
    settle = resolve
  })
  const alive = () => {
    if (dead || closed) throw new LayaError('inference_failed', 'the engine thread ended before it answered')
  }
  return {
    name: () => name,
    get closed() {
      return closed
    },
    died,
    die() {
      dead = true
      settle(new LayaError('inference_failed', 'the engine thread ended before it answered'))
    },
    sicken() {
      sick = true
    },
    async openEngine(spec): Promise<Engine> {
      name = spec.workFolder
      await open(name)
      alive()
      const engine = createFakeEngine(spec)
      return {
        ...engine,
        async run(pass) {
          alive()
          const result = await engine.run(pass)
          // Long enough that it can die in the middle.
          for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
          alive()
          const rows = result.rows.map((row) => ({
            ...row,
            logits: row.logits.map((logit) => (sick ? -logit : logit)),
          }))
          return { ...result, rows }
        },
      }
    },
    openEncoder: async () => createFakeEncoder(),
    async close() {
      closed = true
      return true
    },
  }
}
