// Over 250 lines: the states of loading, switching, failing and unloading only make sense read together.
import type { Architecture } from '../../models/config.ts'
import { LayaError } from '../../models/errors.ts'
import type { Installed } from '../../models/installed.ts'
import type { Store } from '../../models/store.ts'
import type { DeviceReport, Notice, Phase, Problem, Settings } from '../contract.ts'
import { type Breaker, ENGINE_RULE, strike, UNBROKEN } from '../domain/breaker.ts'
import { deviceTitle } from '../domain/device.ts'
import { next, type PhaseEvent } from '../domain/phase.ts'
import { candidateName } from '../engine/candidates.ts'
import type { Encoder, Engine, EngineThread } from '../engine/engine.ts'
import type { EngineChoice, EnginePolicy } from './engines.ts'
import type { Log } from './log.ts'
import { type OpenResident, openResident } from './resident.ts'
import type { Telemetry } from './telemetry.ts'

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
  /** Before files of a checkpoint go: unloads it. @throws LayaError `checkpoint_locked` for the selected one. */
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

type WatchedSettings = Pick<
  Settings,
  'loadOnDemand' | 'secondResident' | 'memoryLimitMb' | 'idleUnloadSeconds' | 'engine' | 'requireDevice'
>

export interface ResidencyParts {
  store: Pick<Store, 'list' | 'find' | 'open'>
  policy: EnginePolicy
  openThread(): EngineThread
  selected: string
  settings(): WatchedSettings
  /** Proves, after warm-up, that requests to the bound addresses reach this process. */
  prove(): Promise<void>
  telemetry: Pick<Telemetry, 'engineRestarted' | 'engineFellBack' | 'mark'>
  log: Log
  now(): number
  rssMb(): number
  memoryMb: number
  onChange(): void
  onNotice(notice: Omit<Notice, 'at'>): void
  /** `use` succeeded: keep the choice for the next start. */
  onSelected(name: string): void
  /** A thread cannot be ended: the process must be. */
  onHung(problem: Problem): void
}

interface Entry {
  name: string
  open: OpenResident
  leases: number
  lastUsed: number
  breaker: Breaker
  /** Its engine failed and is being looked at or replaced. */
  recovering: boolean
  onFree: (() => void)[]
  /** Settles when its memory is free; `null` while it stays. */
  gone: Promise<void> | null
}

export function createResidency(parts: ResidencyParts): ManagedResidency {
  const { store, policy, telemetry, log, now } = parts
  const loaded = new Map<string, Entry>()
  const preparing = new Map<string, { promise: Promise<void>; step: string }>()
  /** Engines given up since the start, by checkpoint. */
  const avoided = new Map<string, Set<string>>()
  const loadMs = new Map<string, number>()
  let selected = store.find(parts.selected)?.name ?? parts.selected
  let phase: Phase = 'starting'
  let since = now()
  let problem: Problem | undefined
  let step: string | undefined
  let stage: Promise<unknown> = Promise.resolve()
  let improving: AbortController | null = null
  let lastUsed = now()
  /** The machine sleeps, or the answers were not checked since it woke. */
  let suspended = false

  return {
    state,
    residents: () => order().map((name) => loaded.get(name)!.open.resident),
    lease,
    use,
    unload,
    begin: () => {
      move('listening')
      return loadSelected().catch(() => {})
    },
    improve,
    rechoose,
    release,
    suspend() {
      suspended = true
      move('suspend')
    },
    resume,
    tick,
    lastUsedAt: () => lastUsed,
    drain() {
      improving?.abort()
      move('drain')
    },
    async close() {
      improving?.abort()
      move('stop')
      await stage.catch(() => {})
      for (const entry of [...loaded.values()]) await drop(entry)
    },
  }

  // State

  function order(): string[] {
    const names = [...loaded.values()].filter(serves).map((entry) => entry.name)
    return names.includes(selected) ? [selected, ...names.filter((name) => name !== selected)] : names
  }

  function serves(entry: Entry): boolean {
    return !entry.recovering && !suspended
  }

  function state(): ResidencyState {
    const current = preparing.get(selected)?.step ?? [...preparing.values()][0]?.step ?? step
    return {
      phase,
      since,
      ...(current !== undefined && { progress: current }),
      ...(problem !== undefined && phase === 'failed' && { problem }),
      loaded: order(),
      preparing: [...preparing.keys()],
      selected,
      installed: store.list().map(({ name, aliases, description, releaseDate, owner }) => {
        return { name, aliases, description, releaseDate, owner }
      }),
    }
  }

  function move(event: PhaseEvent, why?: Problem): void {
    const after = next(phase, event)
    if (event === 'fail' && after === 'failed') problem = why
    if (after !== phase) {
      phase = after
      since = now()
    }
    if (after === 'ready') step = undefined
    parts.onChange()
  }

  function say(name: string, text: string): void {
    const job = preparing.get(name)
    if (job === undefined || job.step === text) return
    job.step = text
    log.debug(text, { checkpoint: name })
    parts.onChange()
  }

  // Leases

  function lease(name: string | null): { resident: Resident; release(): void } {
    const target = name === null ? selected : (store.find(name)?.name ?? name)
    if (phase === 'draining' || phase === 'stopping') throw notReady(target, 'the service is stopping')
    const entry = loaded.get(target)
    if (entry === undefined) throw absent(target)
    if (entry.recovering) throw notReady(target, 'the engine is being replaced')
    if (suspended) throw notReady(target, 'the answers are being checked after a sleep')
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
    const installed = store.find(target)
    const { loadOnDemand, secondResident } = parts.settings()
    if (target === selected) {
      if (phase === 'failed')
        return notReady(target, problem?.sentence ?? 'the checkpoint could not be loaded')
      if (phase !== 'unloaded') return notReady(target, step ?? 'starting')
      if (installed && !installed.fault && loadOnDemand) {
        loadSelected().catch(() => {})
        return notReady(target, `loading '${target}', which was unloaded to free its memory`)
      }
    }
    if (installed === undefined) return new LayaError('unknown_model', `'${target}' is not installed`)
    if (installed.fault)
      return new LayaError('model_not_loaded', `'${target}' cannot be used: ${installed.fault.sentence}`, {
        hint: installed.fault.hint,
      })
    if (target !== selected && loadOnDemand && secondResident) {
      loadSecond(installed).catch(() => {})
      return notReady(target, `loading '${target}'`)
    }
    const remedy =
      loadOnDemand && target !== selected
        ? 'choose it in the panel or allow a second resident checkpoint'
        : 'load it in the panel or turn on loading on demand'
    return new LayaError('model_not_loaded', `'${target}' is installed but not loaded; ${remedy}`)
  }

  function notReady(target: string, progress: string): LayaError {
    const estimate = loadMs.get(target) ?? 2000
    const sentence = progress.charAt(0).toLowerCase() + progress.slice(1)
    return new LayaError('not_ready', sentence.replace(/\.$/, ''), {
      extras: { phase, progress },
      retryAfter: Math.min(30, Math.max(1, Math.ceil(estimate / 1000))),
    })
  }

  // Loading. One at a time: two loads would slow each other down and could both take the memory meant for one.

  function exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = stage.catch(() => {}).then(work)
    stage = turn
    return turn
  }

  /** Makes a checkpoint warm and answers with its entry, which nobody sees yet. */
  async function prepare(installed: Installed, choose: () => Promise<EngineChoice>): Promise<Entry> {
    const { name } = installed
    const began = now()
    const choice = await choose()
    const entry: Entry = {
      name,
      open: undefined as unknown as OpenResident,
      leases: 0,
      lastUsed: now(),
      breaker: UNBROKEN,
      recovering: false,
      onFree: [],
      gone: null,
    }
    entry.open = await openResident(installed, choice, {
      openThread: parts.openThread,
      now,
      onProgress: (text) => {
        if (name === selected && /^Warming/.test(text) && phase === 'loading') move('loaded')
        say(name, text)
      },
      onFailure: (error, how) => void onFailure(entry, error, how),
      onStuck: () => parts.onHung(STUCK),
    })
    loadMs.set(name, now() - began)
    return entry
  }

  /** `prepare` with the name shown as being prepared. */
  function track<T>(name: string, work: () => Promise<T>): Promise<T> {
    const promise = work().finally(() => {
      preparing.delete(name)
      parts.onChange()
    })
    preparing.set(name, { promise: promise.then(() => {}), step: `loading '${name}'` })
    preparing.get(name)!.promise.catch(() => {})
    parts.onChange()
    return promise
  }

  function chooseFor(installed: Installed): () => Promise<EngineChoice> {
    const { name } = installed
    return () => policy.choose(installed, avoided.get(name) ?? new Set(), (text) => say(name, text))
  }

  /** Loads the selected checkpoint where nothing serves: at start, on demand, after a failure. */
  function loadSelected(): Promise<void> {
    const name = selected
    const running = preparing.get(name)
    if (running !== undefined) return running.promise
    move('load')
    return track(name, () =>
      exclusive(async () => {
        if (loaded.has(name) || name !== selected) return
        try {
          const installed = store.open(name)
          await makeRoom(installed)
          const entry = await prepare(installed, chooseFor(installed))
          // Another one was chosen in the meantime.
          if (name !== selected) return await drop(entry)
          move('loaded')
          step = 'Proving that requests reach this process'
          await parts.prove()
          serve(entry)
        } catch (error) {
          fail(name, error)
          throw error
        }
      }),
    ).then(() => void improve(false).catch(() => {}))
  }

  function serve(entry: Entry): void {
    loaded.set(entry.name, entry)
    lastUsed = entry.lastUsed = now()
    const { report, warmupMs } = entry.open.resident
    telemetry.mark(`${entry.name} on ${deviceTitle(report)}`)
    log.info(`${entry.name} is ready on ${deviceTitle(report)}`, {
      checkpoint: entry.name,
      engine: report.engine,
      device: report.active,
      precision: report.precision,
      warmupMs: Math.round(warmupMs),
    })
    if (entry.name !== selected) {
      parts.onChange()
      return
    }
    move('loaded')
    move('switched')
    move('ready')
  }

  function fail(name: string, error: unknown): void {
    const why = toProblem(error)
    log.error(why.sentence, { checkpoint: name, code: why.code, cause: causeOf(error) })
    if (name === selected && !loaded.has(name)) move('fail', why)
    else parts.onChange()
  }

  async function use(wanted: string): Promise<void> {
    const installed = store.open(wanted)
    const { name } = installed
    if (name === selected && loaded.has(name)) return
    improving?.abort()
    const current = loaded.get(selected)
    const roomy = parts.settings().secondResident && fits(installed)
    if (current === undefined || (loaded.has(name) && roomy)) {
      selected = name
      if (!loaded.has(name)) await loadSelected()
      else move('switched')
      parts.onSelected(name)
      return
    }
    await track(name, () => exclusive(() => replace(current, installed)))
    parts.onSelected(name)
    void improve(false).catch(() => {})
  }

  /** Makes `installed` warm beside `current`, then lets it take over. Without room for both there is a gap. */
  async function replace(current: Entry, installed: Installed): Promise<void> {
    const { name } = installed
    const gap = !loaded.has(name) && !fits(installed) && loaded.get(current.name) === current
    if (gap) {
      parts.onNotice({
        id: 'switch-gap',
        level: 'info',
        sentence: `'${current.name}' and '${name}' do not fit the memory limit together, so requests wait for the switch.`,
        hint: 'Raise the memory limit in Settings to switch without a pause.',
      })
      selected = name
      move('load')
      await drop(current)
    } else move('switch')
    try {
      const entry = loaded.get(name) ?? (await prepare(installed, chooseFor(installed)))
      selected = name
      serve(entry)
    } catch (error) {
      if (gap) fail(name, error)
      else {
        move('switched')
        const why = toProblem(error)
        log.error(why.sentence, { checkpoint: name, code: why.code, cause: causeOf(error) })
      }
      throw error
    }
    if (!gap && !parts.settings().secondResident) await drop(current)
    else await shrink()
  }

  function loadSecond(installed: Installed): Promise<void> {
    const { name } = installed
    return track(name, () =>
      exclusive(async () => {
        if (loaded.has(name)) return
        try {
          await makeRoom(installed)
          if (!fits(installed))
            throw new LayaError(
              'model_not_loaded',
              `'${name}' does not fit the memory limit beside '${selected}'.`,
            )
          serve(await prepare(installed, chooseFor(installed)))
        } catch (error) {
          const why = toProblem(error)
          parts.onNotice({ id: `second-${name}`, level: 'warning', ...sentenceOf(why) })
          fail(name, error)
          throw error
        }
      }),
    )
  }

  // Unloading

  async function unload(wanted: string): Promise<void> {
    const name = store.find(wanted)?.name ?? wanted
    await preparing.get(name)?.promise.catch(() => {})
    const entry = loaded.get(name)
    if (entry === undefined) return
    if (name === selected) improving?.abort()
    await exclusive(() => drop(entry))
  }

  /** Takes no new request, waits for those that run, ends the thread. */
  function drop(entry: Entry): Promise<void> {
    entry.gone ??= end(entry)
    return entry.gone
  }

  async function end(entry: Entry): Promise<void> {
    if (loaded.get(entry.name) === entry) {
      loaded.delete(entry.name)
      if (entry.name === selected && phase !== 'stopping') move('unload')
      else parts.onChange()
    }
    if (entry.leases > 0) await new Promise<void>((resolve) => entry.onFree.push(resolve))
    if (!(await entry.open.close())) parts.onHung(STUCK)
    log.info(`${entry.name} is unloaded`, { checkpoint: entry.name, rssMb: Math.round(parts.rssMb()) })
  }

  async function release(wanted: string): Promise<void> {
    const name = store.find(wanted)?.name ?? wanted
    if (name === selected && (loaded.has(name) || preparing.has(name)))
      throw new LayaError('checkpoint_locked', `'${name}' is the checkpoint in use.`, {
        hint: 'Choose another one first.',
      })
    await unload(name)
  }

  // Memory

  function limitMb(): number {
    const { memoryLimitMb } = parts.settings()
    return memoryLimitMb > 0 ? memoryLimitMb : parts.memoryMb / 2
  }

  function fits(installed: Installed): boolean {
    return parts.rssMb() + needMb(installed) <= limitMb()
  }

  /** Unloads the least used checkpoints beside the selected one until the new one fits. */
  async function makeRoom(installed: Installed): Promise<void> {
    while (!fits(installed)) {
      const victim = leastUsed(installed.name)
      if (victim === undefined) return
      await drop(victim)
    }
  }

  /** Unloads the least used checkpoints beside the selected one until the limit holds. */
  async function shrink(): Promise<void> {
    for (let victim = leastUsed(); victim !== undefined && parts.rssMb() > limitMb(); victim = leastUsed())
      await drop(victim)
  }

  function leastUsed(but?: string): Entry | undefined {
    const others = [...loaded.values()].filter(({ name }) => name !== selected && name !== but)
    return others.sort((a, b) => a.lastUsed - b.lastUsed)[0]
  }

  function tick(): void {
    const { idleUnloadSeconds } = parts.settings()
    if (idleUnloadSeconds === 0) return
    for (const entry of loaded.values()) {
      const idle = entry.leases === 0 && now() - entry.lastUsed >= idleUnloadSeconds * 1000
      if (idle && !preparing.has(entry.name) && improving === null) {
        log.info(`${entry.name} was not used for ${idleUnloadSeconds} s`, { checkpoint: entry.name })
        void unload(entry.name)
      }
    }
  }

  // Engines that fail, and engines that are better

  async function onFailure(entry: Entry, error: Error, how: 'died' | 'threw'): Promise<void> {
    if (entry.recovering || loaded.get(entry.name) !== entry) return
    entry.recovering = true
    log.error(`The engine of ${entry.name} ${how === 'died' ? 'ended' : 'failed'}`, {
      checkpoint: entry.name,
      engine: entry.open.choice.spec.engine,
      cause: causeOf(error),
    })
    // One input may be at fault and the engine well: a known question tells.
    if (how === 'threw' && (await entry.open.check())) {
      entry.recovering = false
      return
    }
    await recover(entry, toProblem(error).sentence)
  }

  /** Opens the same engine again, or the next one when it failed too often. */
  async function recover(entry: Entry, reason: string): Promise<void> {
    entry.recovering = true
    const { name } = entry
    if (name === selected) {
      step = 'Replacing the engine'
      move('suspend')
    }
    const struck = strike(entry.breaker, ENGINE_RULE, now())
    entry.breaker = struck.breaker
    telemetry.engineRestarted()
    try {
      await entry.open.reopen(struck.delayMs === null ? await fallBack(entry, reason) : entry.open.choice)
      entry.recovering = false
      if (name === selected) move('ready')
      else parts.onChange()
    } catch (error) {
      loaded.delete(name)
      void entry.open.close()
      if (name !== selected)
        parts.onNotice({ id: `engine-${name}`, level: 'error', ...sentenceOf(toProblem(error)) })
      fail(name, error)
    }
  }

  async function fallBack(entry: Entry, reason: string): Promise<EngineChoice> {
    const { name } = entry
    const { spec, report } = entry.open.choice
    const given = avoided.get(name) ?? new Set()
    avoided.set(name, given.add(candidateName(spec)))
    entry.breaker = UNBROKEN
    const installed = store.open(name)
    const choice = await policy.choose(installed, given, () => {})
    if (candidateName(choice.spec) === candidateName(spec))
      throw new LayaError(
        'engine_unavailable',
        `${deviceTitle(report)} failed three times within a minute: ${reason}`,
        {
          hint: 'No other engine can serve this checkpoint. Start again, or choose another engine in Settings.',
        },
      )
    const why = `${deviceTitle(report)} failed three times within a minute; now on ${deviceTitle(choice.report)}.`
    const { fallbacks } = entry.open.resident
    fallbacks.count++
    fallbacks.lastReason = reason
    telemetry.engineFellBack(spec.engine, choice.spec.engine)
    telemetry.mark(`${name} on ${deviceTitle(choice.report)}`)
    log.warn(why, { checkpoint: name, reason })
    parts.onNotice({ id: `fallback-${name}`, level: 'warning', sentence: why, hint: reason })
    return { ...choice, report: { ...choice.report, why: `${why} ${choice.report.why}` } }
  }

  async function improve(again: boolean): Promise<void> {
    const entry = loaded.get(selected)
    if (entry === undefined) return
    improving?.abort()
    const abort = new AbortController()
    improving = abort
    try {
      const given = avoided.get(entry.name) ?? new Set<string>()
      const better = await policy.improve(store.open(entry.name), entry.open.choice, given, {
        signal: abort.signal,
        onProgress(text) {
          step = text
          parts.onChange()
        },
        again,
      })
      if (better === null || abort.signal.aborted || loaded.get(entry.name) !== entry) return
      if (candidateName(better.spec) === candidateName(entry.open.choice.spec)) {
        entry.open.resident.report = better.report
        return
      }
      await exclusive(() => change(entry, better))
    } catch (error) {
      if (!abort.signal.aborted) {
        log.warn(`The engines could not be checked: ${toProblem(error).sentence}`, { cause: causeOf(error) })
      }
    } finally {
      if (improving === abort) improving = null
      step = undefined
      parts.onChange()
    }
  }

  /** Opens the better engine beside the present one and lets it take over. */
  async function change(entry: Entry, better: EngineChoice): Promise<void> {
    if (loaded.get(entry.name) !== entry) return
    const { name } = entry
    const before = deviceTitle(entry.open.resident.report)
    if (name === selected) move('switch')
    try {
      const successor = await prepare(store.open(name), async () => better)
      successor.open.resident.fallbacks = entry.open.resident.fallbacks
      serve(successor)
      const sentence = `Now on ${deviceTitle(better.report)} instead of ${before}.`
      log.info(sentence, { checkpoint: name })
      parts.onNotice({ id: `engine-${name}`, level: 'info', sentence, hint: better.report.why })
      await drop(entry)
    } catch (error) {
      if (name === selected) move('switched')
      throw error
    }
  }

  async function rechoose(): Promise<void> {
    const entry = loaded.get(selected)
    if (entry === undefined) {
      if (phase === 'failed') await loadSelected()
      return
    }
    improving?.abort()
    const installed = store.open(entry.name)
    const choice = await policy.choose(installed, avoided.get(entry.name) ?? new Set(), () => {})
    if (candidateName(choice.spec) === candidateName(entry.open.choice.spec))
      entry.open.resident.report = choice.report
    else await exclusive(() => change(entry, choice))
    parts.onChange()
    void improve(false)
  }

  async function resume(): Promise<void> {
    if (!suspended) return
    step = 'Checking the answers after sleep'
    parts.onChange()
    for (const entry of [...loaded.values()]) {
      if (entry.recovering || (await entry.open.check())) continue
      await recover(entry, 'After sleep the answers were not the known ones.')
    }
    try {
      await parts.prove()
      suspended = false
      if (loaded.has(selected)) move('ready')
      else parts.onChange()
    } catch (error) {
      suspended = false
      log.error(toProblem(error).sentence)
      move('fail', toProblem(error))
    }
  }
}

const STUCK: Problem = {
  code: 'inference_timeout',
  sentence: 'The engine does not react any more, so the service is started again.',
}

/** Float32 in memory is twice the half precision of the file; the rest is the runtime's and the tokenizer's. */
function needMb(installed: Installed): number {
  const bytes = installed.manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  return (2 * bytes) / 1e6 + 60
}

export function toProblem(error: unknown): Problem {
  if (!(error instanceof LayaError))
    return { code: 'internal_error', sentence: 'An unexpected fault; the log has the reason.' }
  const { hint } = error.details
  return { code: error.code, sentence: error.message, ...(hint !== undefined && { hint }) }
}

function sentenceOf({ sentence, hint }: Problem): Pick<Notice, 'sentence' | 'hint'> {
  return { sentence, ...(hint !== undefined && { hint }) }
}

function causeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error ? cause.message : error instanceof LayaError ? undefined : error.stack
}
