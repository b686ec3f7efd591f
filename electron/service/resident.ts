import { readArchitecture } from '../../models/config.ts'
import { LayaError } from '../../models/errors.ts'
import type { Installed } from '../../models/installed.ts'
import type { Encoder, Engine, EngineThread } from '../engine/engine.ts'
import { agrees, askCanary, type CanaryAnswer } from './canary.ts'
import type { EngineChoice } from './engines.ts'
import type { Resident } from './residency.ts'

/** A checkpoint in memory: its thread, and the engine and encoder that requests see. */
export interface OpenResident {
  readonly resident: Resident
  readonly choice: EngineChoice
  /** Whether it still gives the answer it gave when it was opened. Never throws. */
  check(): Promise<boolean>
  /**
   * Ends the present thread and opens `choice` on a new one. Requests that wait for the engine run on the new one.
   * Rejects like `openResident`; the resident is then dead for good.
   */
  reopen(choice: EngineChoice): Promise<void>
  /** False when the thread did not end: it is stuck in native code. */
  close(): Promise<boolean>
}

export interface ResidentParts {
  openThread(): EngineThread
  now(): number
  onProgress(step: string): void
  /** The thread ended by itself, or a run failed. May come several times for one fault. */
  onFailure(error: Error, how: 'died' | 'threw'): void
  /** The thread could not be ended. */
  onStuck(): void
}

/** Compiling for Core ML takes minutes at worst; what takes longer hangs. */
const OPEN_MS = 300_000
const CHECK_MS = 60_000

interface Slot {
  thread: EngineThread
  engine: Engine
  encoder: Encoder
  known: CanaryAnswer
  warmupMs: number
}

/**
 * Loads a checkpoint on a thread of its own, warm. Each resident has its own thread, so that no request of one waits
 * while another loads, and so that its memory goes back to the system with the thread: a session that is released
 * leaves its arenas behind.
 *
 * @throws LayaError `checkpoint_unusable`, `engine_unavailable`, `inference_failed`.
 */
export async function openResident(
  installed: Installed,
  choice: EngineChoice,
  parts: ResidentParts,
): Promise<OpenResident> {
  const architecture = readArchitecture(installed.folder)
  let current = choice
  let slot!: Slot
  slot = await openSlot(choice)
  /** Settles when requests may go on. */
  let repaired: Promise<void> | null = null
  let dead = false

  const engine: Engine = {
    get info() {
      return slot.engine.info
    },
    run: (pass) => guarded((use) => use.engine.run(pass)),
    close: async () => {},
  }
  const encoder: Encoder = {
    get window() {
      return slot.encoder.window
    },
    encode: (state, questions, window) => guarded((use) => use.encoder.encode(state, questions, window)),
    close: async () => {},
  }
  const resident: Resident = {
    name: installed.name,
    repo: installed.repo,
    revision: installed.revision,
    demo: installed.demo,
    architecture,
    encoder,
    engine,
    report: choice.report,
    warmupMs: slot.warmupMs,
    fallbacks: { count: 0, lastReason: null },
    graphs: { atReady: countGraphs(slot.engine), now: countGraphs(slot.engine), recompiled: 0 },
  }

  return {
    resident,
    get choice() {
      return current
    },
    async check() {
      const { engine: live, encoder: texts, known } = slot
      try {
        return agrees(known, await within(askCanary(live, texts), CHECK_MS))
      } catch {
        return false // Whatever it threw, it did not give the known answer.
      }
    },
    reopen(next) {
      const old = slot.thread
      repaired = (async () => {
        if (!(await old.close())) return parts.onStuck()
        slot = await openSlot(next)
        current = next
        resident.report = next.report
        resident.warmupMs = slot.warmupMs
        resident.graphs = { atReady: countGraphs(slot.engine), now: countGraphs(slot.engine), recompiled: 0 }
        repaired = null
      })()
      repaired.catch(() => {
        dead = true
      })
      return repaired
    },
    async close() {
      dead = true
      await repaired?.catch(() => {})
      return slot.thread.close()
    },
  }

  /** Runs on what is current when its turn comes, and reports when that fails. */
  async function guarded<T>(work: (use: Slot) => Promise<T>): Promise<T> {
    await repaired?.catch(() => {
      throw new LayaError('inference_failed', 'the engine failed and could not be replaced', {
        hint: 'The panel and the log have the reason.',
      })
    })
    const use = slot
    try {
      return await work(use)
    } catch (error) {
      // What the caller asked for was refused; nothing is wrong with the engine.
      const refused = error instanceof LayaError && error.code === 'invalid_question'
      if (!refused && use === slot && repaired === null && !dead) parts.onFailure(error as Error, 'threw')
      throw error
    }
  }

  async function openSlot({ spec }: EngineChoice): Promise<Slot> {
    const thread = parts.openThread()
    let stop: (error: Error) => void = () => {}
    const ended = new Promise<never>((_, reject) => {
      stop = reject
    })
    void thread.died.then((error) => {
      stop(error)
      if (slot?.thread === thread && repaired === null && !dead) parts.onFailure(error, 'died')
    })
    try {
      const began = parts.now()
      const open = Promise.all([
        thread.openEngine(spec, parts.onProgress),
        thread.openEncoder(spec.checkpointFolder),
      ])
      open.catch(() => {}) // Awaited below, unless the thread ends or the time runs out first.
      const [live, texts] = await within(Promise.race([open, ended]), OPEN_MS)
      parts.onProgress('Warming up: asking a known question')
      const known = await Promise.race([askCanary(live, texts), ended])
      return { thread, engine: live, encoder: texts, known, warmupMs: parts.now() - began - live.info.loadMs }
    } catch (error) {
      if (!(await thread.close())) parts.onStuck()
      throw explain(error)
    }
  }
}

/** A dynamic graph serves every length. */
function countGraphs({ info }: Engine): number {
  return info.shape.kind === 'fixed' ? info.shape.lengths.length : 1
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new LayaError('engine_unavailable', `The engine did not answer within ${ms / 1000} s.`))
    }, ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Weights that make the very first answers NaN are a fault of the checkpoint, not of this request. */
function explain(error: unknown): unknown {
  if (error instanceof LayaError && error.code === 'inference_failed' && /finite|NaN/.test(error.message))
    return new LayaError(
      'checkpoint_unusable',
      'model.safetensors: the network gives numbers that are not finite.',
      {
        hint: 'Verify the checkpoint, or install it again.',
        cause: error,
      },
    )
  return error
}
