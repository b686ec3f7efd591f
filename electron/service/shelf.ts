import type { Installed } from '../../models/installed.ts'
import type { Store } from '../../models/store.ts'
import type { Notice, Phase, Problem, Settings } from '../contract.ts'
import { type Breaker, UNBROKEN } from '../domain/breaker.ts'
import { next, type PhaseEvent } from '../domain/phase.ts'
import type { EngineThread } from '../engine/engine.ts'
import type { EnginePolicy } from './engines.ts'
import type { Log } from './log.ts'
import type { OpenResident } from './resident.ts'
import type { Telemetry } from './telemetry.ts'

/** What residency needs of the service around it. */
export interface ResidencyParts {
  store: Pick<Store, 'list' | 'find' | 'open'>
  policy: EnginePolicy
  openThread(): EngineThread
  selected: string
  settings(): Pick<Settings, 'loadOnDemand' | 'secondResident' | 'memoryLimitMb' | 'idleUnloadSeconds'>
  /** Proves, after warm-up, that requests to the bound addresses reach this process. */
  prove(): Promise<void>
  telemetry: Pick<Telemetry, 'engineRestarted' | 'engineFellBack' | 'mark'>
  log: Log
  now(): number
  rssMb(): number
  /** Of the machine. */
  memoryMb: number
  onChange(): void
  onNotice(notice: Omit<Notice, 'at'>): void
  /** `use` succeeded: keep the choice for the next start. */
  onSelected(name: string): void
  /** A thread cannot be ended: the process must be. */
  onHung(problem: Problem): void
}

/** One loaded checkpoint. */
export interface Entry {
  readonly name: string
  readonly open: OpenResident
  leases: number
  lastUsed: number
  breaker: Breaker
  /** Its engine failed and is being looked at or replaced. */
  repair: Promise<void> | null
  /** Told when the last lease ends. */
  onFree: (() => void)[]
  /** Settles when its memory is free; `null` while it stays. */
  gone: Promise<void> | null
}

export function createEntry(name: string, open: OpenResident, now: number): Entry {
  return { name, open, leases: 0, lastUsed: now, breaker: UNBROKEN, repair: null, onFree: [], gone: null }
}

/** What is loaded, what is being loaded, and the phase that follows from it. Shared by the parts of residency. */
export interface Shelf {
  readonly parts: ResidencyParts
  readonly loaded: Map<string, Entry>
  readonly preparing: ReadonlyMap<string, { promise: Promise<void>; step: string }>
  /** Engines given up since the start, by checkpoint. */
  readonly avoided: Map<string, Set<string>>
  /** How long loading took the last time. */
  readonly loadMs: Map<string, number>
  selected: string
  /** What is going on beside the loads of `preparing`. */
  step: string | undefined
  /** The machine sleeps, or the answers were not checked since it woke. */
  suspended: boolean
  readonly phase: Phase
  readonly since: number
  readonly problem: Problem | undefined
  move(event: PhaseEvent, why?: Problem): void
  /** How far the load of `name` is. */
  say(name: string, step: string): void
  /** Runs `work` with `name` shown as being prepared. */
  track(name: string, work: () => Promise<void>): Promise<void>
  /** One at a time: two loads would slow each other down and could both take the memory meant for one. */
  exclusive(work: () => Promise<void>): Promise<void>
  /** Settles when nothing exclusive runs. */
  quiet(): Promise<void>
  /** Names of those that may be leased, the selected one first. */
  serving(): string[]
  fits(installed: Installed): boolean
  /** Whether the memory limit is exceeded as it is. */
  overfull(): boolean
  /** The longest unused one beside the selected one. */
  leastUsed(but?: string): Entry | undefined
}

export function createShelf(parts: ResidencyParts): Shelf {
  const { store, log, now } = parts
  const loaded = new Map<string, Entry>()
  const preparing = new Map<string, { promise: Promise<void>; step: string }>()
  let phase: Phase = 'starting'
  let since = now()
  let problem: Problem | undefined
  let stage: Promise<void> = Promise.resolve()

  const limitMb = (): number => {
    const { memoryLimitMb } = parts.settings()
    return memoryLimitMb > 0 ? memoryLimitMb : parts.memoryMb / 2
  }

  const shelf: Shelf = {
    parts,
    loaded,
    preparing,
    avoided: new Map(),
    loadMs: new Map(),
    selected: store.find(parts.selected)?.name ?? parts.selected,
    step: undefined,
    suspended: false,
    get phase() {
      return phase
    },
    get since() {
      return since
    },
    get problem() {
      return phase === 'failed' ? problem : undefined
    },
    move(event, why) {
      const after = next(phase, event)
      if (event === 'fail' && after === 'failed') problem = why
      if (after !== phase) {
        phase = after
        since = now()
      }
      if (after === 'ready') shelf.step = undefined
      parts.onChange()
    },
    say(name, step) {
      const job = preparing.get(name)
      if (job === undefined || job.step === step) return
      job.step = step
      log.debug(step, { checkpoint: name })
      parts.onChange()
    },
    track(name, work) {
      const promise = work().finally(() => {
        preparing.delete(name)
        parts.onChange()
      })
      preparing.set(name, { promise, step: `Loading '${name}'` })
      // Whoever asked for the load hears of its failure; those who only wait for its end do not have to.
      promise.catch(() => {})
      parts.onChange()
      return promise
    },
    exclusive(work) {
      const turn = stage.then(work)
      stage = turn.catch(() => {})
      return turn
    },
    quiet: () => stage,
    serving() {
      const names = [...loaded.values()].filter(({ repair }) => repair === null && !shelf.suspended)
      const order = names.map(({ name }) => name)
      return order.includes(shelf.selected)
        ? [shelf.selected, ...order.filter((name) => name !== shelf.selected)]
        : order
    },
    fits: (installed) => parts.rssMb() + needMb(installed) <= limitMb(),
    overfull: () => parts.rssMb() > limitMb(),
    leastUsed(but) {
      const others = [...loaded.values()].filter(({ name }) => name !== shelf.selected && name !== but)
      return others.sort((a, b) => a.lastUsed - b.lastUsed)[0]
    },
  }
  return shelf
}

/** Float32 in memory is twice the half precision of the file; the rest is the runtime's and the tokenizer's. */
function needMb(installed: Installed): number {
  const bytes = installed.manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  return (2 * bytes) / 1e6 + 60
}
