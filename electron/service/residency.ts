import type { Architecture } from '../../models/config.ts'
import { LayaError } from '../../models/errors.ts'
import type { DeviceReport, Phase, Problem } from '../contract.ts'
import { candidateName } from '../engine/candidates.ts'
import type { Encoder, Engine } from '../engine/engine.ts'
import { createLoads } from './loads.ts'
import { causeOf, toProblem } from './problem.ts'
import { createRecovery } from './recovery.ts'
import { createShelf, type ResidencyParts } from './shelf.ts'

/** What replies and `/health` say about one loaded checkpoint. */
export interface Resident {
  name: string
  repo: string | null
  revision: string | null
  demo: boolean
  architecture: Architecture
  encoder: Encoder
  /** Stays the same object when a dead engine is replaced behind it: what waits then runs on the new one. */
  engine: Engine
  report: DeviceReport
  warmupMs: number
  /** How often this checkpoint had to leave the engine it ran on since the service started, and why the last time. */
  fallbacks: { count: number; lastReason: string | null }
  /** Graphs (compiled lengths) of the engine. `recompiled` changes its base only on a successful load. */
  graphs: { atReady: number; now: number; recompiled: number }
}

export interface ResidencyState {
  phase: Phase
  /** Epoch milliseconds at which `phase` began. */
  since: number
  progress?: string
  /** 0..1 of the load, when known. */
  fraction?: number
  problem?: Problem
  /** Names, the selected checkpoint first. */
  loaded: string[]
  preparing: string[]
  selected: string
  installed: { name: string; aliases: string[]; description: string; releaseDate: string; owner: string }[]
}

/** Which checkpoints are loaded. Requests hold a lease while they run, so that a switch drops none of them. */
export interface Residency {
  state(): ResidencyState
  /** What is loaded and warm, the selected checkpoint first. Takes no lease and does not count as use. */
  residents(): Resident[]
  /**
   * `null` = the selected checkpoint. Throws LayaError `unknown_model`, `model_not_loaded` or `not_ready`
   * (which starts a load on demand where that is allowed).
   */
  lease(name: string | null): { resident: Resident; release(): void }
  /** Selects and loads. The present one serves until the new one is warm, and stays when that fails. */
  use(name: string): Promise<void>
  /** Waits for the requests that run on it; its memory goes back to the system. */
  unload(name: string): Promise<void>
  close(): Promise<void>
}

/** What the service itself does with it. */
export interface ManagedResidency extends Residency {
  /** The sockets are open: loads the selected checkpoint. Settles when it serves or has failed. */
  begin(): Promise<void>
  /** Checks and times the engines of the selected checkpoint, those already checked only when `again`. */
  improve(again: boolean): Promise<void>
  /** Chooses the engine anew, after the settings about engines changed. */
  rechoose(): Promise<void>
  /** Before files of a checkpoint go: unloads it. @throws LayaError `checkpoint_locked` for the one in use. */
  release(name: string): Promise<void>
  suspend(): void
  /** Checks the answers of every engine after a sleep and replaces what gives others. */
  resume(): Promise<void>
  /** Once a second: unloads what was not used for long. */
  tick(): void
  /** Epoch milliseconds of the last lease. */
  lastUsedAt(): number
  /** No new work: the service is asked to end. */
  drain(): void
}

export function createResidency(parts: ResidencyParts): ManagedResidency {
  const { store, policy, log, now } = parts
  const shelf = createShelf(parts)
  const loads = createLoads(shelf, (...failure) => recovery.onFailure(...failure))
  const recovery = createRecovery(shelf, loads)
  const { loaded, preparing } = shelf
  let improving: AbortController | null = null
  let lastUsed = now()

  function state(): ResidencyState {
    const { phase, since, problem, selected, step } = shelf
    const progress = preparing.get(selected)?.step ?? [...preparing.values()][0]?.step ?? step
    return {
      phase,
      since,
      ...(progress !== undefined && { progress }),
      ...(problem !== undefined && { problem }),
      loaded: shelf.serving(),
      preparing: [...preparing.keys()],
      selected,
      installed: store.list().map(({ name, aliases, description, releaseDate, owner }) => {
        return { name, aliases, description, releaseDate, owner }
      }),
    }
  }

  function lease(name: string | null): { resident: Resident; release(): void } {
    const target = name === null ? shelf.selected : (store.find(name)?.name ?? name)
    const { phase } = shelf
    if (phase === 'draining' || phase === 'stopping') throw notReady(target, 'the service is stopping')
    const entry = loaded.get(target)
    if (entry === undefined) throw absent(target)
    if (entry.repair !== null) throw notReady(target, 'the engine is being replaced')
    if (shelf.suspended) throw notReady(target, 'the answers are being checked after a sleep')
    entry.leases++
    lastUsed = entry.lastUsed = now()
    let held = true
    return {
      resident: entry.open.resident,
      release() {
        if (!held) return
        held = false
        entry.leases--
        lastUsed = entry.lastUsed = now()
        if (entry.leases === 0) for (const free of entry.onFree.splice(0)) free()
      },
    }
  }

  /** Why a checkpoint cannot be leased, and the load on demand where that is allowed. */
  function absent(target: string): LayaError {
    const job = preparing.get(target)
    if (job !== undefined) return notReady(target, job.step)
    const { phase, selected, step, problem } = shelf
    const { loadOnDemand, secondResident } = parts.settings()
    const installed = store.find(target)
    if (target === selected) {
      if (phase === 'failed')
        return notReady(target, problem?.sentence ?? 'the checkpoint could not be loaded')
      if (phase !== 'unloaded') return notReady(target, step ?? 'starting')
      if (installed && !installed.fault && loadOnDemand) {
        load().catch(() => {})
        return notReady(target, `loading '${target}', which was unloaded to free its memory`)
      }
    }
    if (installed === undefined) return new LayaError('unknown_model', `'${target}' is not installed`)
    if (installed.fault)
      return new LayaError('model_not_loaded', `'${target}' cannot be used: ${installed.fault.sentence}`, {
        hint: installed.fault.hint,
      })
    if (target !== selected && loadOnDemand && secondResident) {
      loads.loadSecond(installed).catch(() => {})
      return notReady(target, `loading '${target}'`)
    }
    const remedy =
      loadOnDemand && target !== selected
        ? 'choose it in the panel or allow a second resident checkpoint'
        : 'load it in the panel or turn on loading on demand'
    return new LayaError('model_not_loaded', `'${target}' is installed but not loaded; ${remedy}`)
  }

  function notReady(target: string, progress: string): LayaError {
    const estimate = shelf.loadMs.get(target) ?? 2000
    const sentence = progress.charAt(0).toLowerCase() + progress.slice(1)
    return new LayaError('not_ready', sentence.replace(/\.$/, ''), {
      extras: { phase: shelf.phase, progress },
      retryAfter: Math.min(30, Math.max(1, Math.ceil(estimate / 1000))),
    })
  }

  async function load(): Promise<void> {
    await loads.loadSelected()
    void improve(false)
  }

  /** Never throws: what serves goes on serving. */
  async function improve(again: boolean): Promise<void> {
    improving?.abort()
    const entry = loaded.get(shelf.selected)
    if (entry === undefined) return
    const abort = new AbortController()
    improving = abort
    try {
      const avoided = shelf.avoided.get(entry.name) ?? new Set<string>()
      const better = await policy.improve(store.open(entry.name), entry.open.choice, avoided, {
        signal: abort.signal,
        onProgress(step) {
          shelf.step = step
          parts.onChange()
        },
        again,
      })
      if (better === null || abort.signal.aborted || loaded.get(entry.name) !== entry) return
      if (candidateName(better.spec) !== candidateName(entry.open.choice.spec))
        await loads.replaceEngine(entry, better)
      else entry.open.resident.report = better.report
    } catch (error) {
      if (!abort.signal.aborted)
        log.warn(`The engines could not be checked: ${toProblem(error).sentence}`, { cause: causeOf(error) })
    } finally {
      if (improving === abort) {
        improving = null
        shelf.step = undefined
        parts.onChange()
      }
    }
  }

  async function rechoose(): Promise<void> {
    improving?.abort()
    const entry = loaded.get(shelf.selected)
    if (entry === undefined) {
      if (shelf.phase === 'failed') await load()
      return
    }
    const avoided = shelf.avoided.get(entry.name) ?? new Set<string>()
    const choice = await policy.choose(store.open(entry.name), avoided, () => {})
    if (candidateName(choice.spec) !== candidateName(entry.open.choice.spec))
      await loads.replaceEngine(entry, choice)
    else entry.open.resident.report = choice.report
    parts.onChange()
    void improve(false)
  }

  return {
    state,
    residents: () => shelf.serving().map((name) => loaded.get(name)!.open.resident),
    lease,
    async use(name) {
      improving?.abort()
      if (await loads.use(name)) void improve(false)
    },
    async unload(name) {
      if (store.find(name)?.name === shelf.selected) improving?.abort()
      await loads.unload(name)
    },
    async begin() {
      shelf.move('listening')
      await load().catch(() => {})
    },
    improve,
    rechoose,
    async release(wanted) {
      const name = store.find(wanted)?.name ?? wanted
      if (name === shelf.selected && (loaded.has(name) || preparing.has(name)))
        throw new LayaError('checkpoint_locked', `'${name}' is the checkpoint in use.`, {
          hint: 'Choose another one first.',
        })
      await loads.unload(name)
    },
    suspend() {
      shelf.suspended = true
      shelf.move('suspend')
    },
    resume: recovery.resume,
    tick() {
      const { idleUnloadSeconds } = parts.settings()
      if (idleUnloadSeconds === 0) return
      for (const { name, leases, lastUsed: used } of loaded.values()) {
        const idle = leases === 0 && now() - used >= idleUnloadSeconds * 1000
        if (!idle || preparing.has(name) || improving !== null) continue
        log.info(`${name} was not used for ${idleUnloadSeconds} s`, { checkpoint: name })
        void loads.unload(name)
      }
    },
    lastUsedAt: () => lastUsed,
    drain() {
      improving?.abort()
      shelf.move('drain')
    },
    async close() {
      improving?.abort()
      shelf.move('stop')
      await shelf.quiet()
      for (const entry of [...loaded.values()]) await loads.drop(entry)
    },
  }
}
