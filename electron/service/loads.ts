import { LayaError } from '../../models/errors.ts'
import type { Installed } from '../../models/installed.ts'
import type { Problem } from '../contract.ts'
import { deviceTitle } from '../domain/device.ts'
import type { EngineChoice } from './engines.ts'
import { causeOf, toProblem } from './problem.ts'
import { openResident } from './resident.ts'
import { createEntry, type Entry, type Shelf } from './shelf.ts'

/** Bringing checkpoints into memory and taking them out of it. */
export interface Loads {
  /** Where nothing serves: at start, on demand, after a failure. */
  loadSelected(): Promise<void>
  /** Beside the selected one. */
  loadSecond(installed: Installed): Promise<void>
  /** Selects and loads. Resolves with true when another checkpoint or process serves afterwards. */
  use(name: string): Promise<boolean>
  /** Opens another engine beside the one of `entry` and lets it take over. */
  replaceEngine(entry: Entry, choice: EngineChoice): Promise<void>
  unload(name: string): Promise<void>
  /** Takes no new request, waits for those that run, ends the thread. */
  drop(entry: Entry): Promise<void>
  /** `name` could not be loaded or kept. */
  fail(name: string, error: unknown): void
}

export const STUCK: Problem = {
  code: 'inference_timeout',
  sentence: 'The engine does not react any more, so the service is started again.',
}

export function createLoads(
  shelf: Shelf,
  onFailure: (entry: Entry, error: Error, how: 'died' | 'threw') => void,
): Loads {
  const { parts, loaded, preparing } = shelf
  const { store, policy, telemetry, log, now } = parts

  /** Makes a checkpoint warm and answers with its entry, which nobody sees yet. */
  async function prepare(installed: Installed, choice?: EngineChoice): Promise<Entry> {
    const { name } = installed
    const began = now()
    const avoided = shelf.avoided.get(name) ?? new Set<string>()
    const chosen = choice ?? (await policy.choose(installed, avoided, (step) => shelf.say(name, step)))
    const open = await openResident(installed, chosen, {
      openThread: parts.openThread,
      now,
      onProgress(step) {
        if (name === shelf.selected && step.startsWith('Warming')) shelf.move('loaded')
        shelf.say(name, step)
      },
      onFailure: (error, how) => onFailure(entry, error, how),
      onStuck: () => parts.onHung(STUCK),
    })
    const entry = createEntry(name, open, now())
    shelf.loadMs.set(name, now() - began)
    return entry
  }

  function serve(entry: Entry): void {
    loaded.set(entry.name, entry)
    entry.lastUsed = now()
    const { report, warmupMs } = entry.open.resident
    telemetry.mark(`${entry.name} on ${deviceTitle(report)}`)
    log.info(`${entry.name} is ready on ${deviceTitle(report)}`, {
      checkpoint: entry.name,
      engine: report.engine,
      device: report.active,
      precision: report.precision,
      warmupMs: Math.round(warmupMs),
    })
    if (entry.name === shelf.selected) {
      shelf.move('loaded')
      shelf.move('switched')
      shelf.move('ready')
    } else parts.onChange()
  }

  function fail(name: string, error: unknown): void {
    const why = toProblem(error)
    log.error(why.sentence, { checkpoint: name, code: why.code, cause: causeOf(error) })
    if (name === shelf.selected && !loaded.has(name)) {
      shelf.move('fail', why)
      return
    }
    const { sentence, hint } = why
    parts.onNotice({ id: `load-${name}`, level: 'warning', sentence, ...(hint !== undefined && { hint }) })
  }

  function loadSelected(): Promise<void> {
    const name = shelf.selected
    const running = preparing.get(name)
    if (running !== undefined) return running.promise
    shelf.move('load')
    return shelf.track(name, () =>
      shelf.exclusive(async () => {
        if (loaded.has(name) || name !== shelf.selected) return
        try {
          const installed = store.open(name)
          await makeRoom(installed)
          const entry = await prepare(installed)
          shelf.move('loaded')
          shelf.say(name, 'Proving that requests reach this process')
          await parts.prove()
          // Another one was chosen in the meantime.
          if (name !== shelf.selected) await drop(entry)
          else serve(entry)
        } catch (error) {
          fail(name, error)
          throw error
        }
      }),
    )
  }

  function loadSecond(installed: Installed): Promise<void> {
    const { name } = installed
    return shelf.track(name, () =>
      shelf.exclusive(async () => {
        if (loaded.has(name)) return
        try {
          await makeRoom(installed)
          if (!shelf.fits(installed))
            throw new LayaError(
              'model_not_loaded',
              `'${name}' does not fit the memory limit beside '${shelf.selected}'.`,
              {
                hint: 'Raise the memory limit in Settings.',
              },
            )
          serve(await prepare(installed))
        } catch (error) {
          fail(name, error)
          throw error
        }
      }),
    )
  }

  async function use(wanted: string): Promise<boolean> {
    const installed = store.open(wanted)
    const { name } = installed
    if (name === shelf.selected && loaded.has(name)) return false
    const current = loaded.get(shelf.selected)
    if (current === undefined) {
      shelf.selected = name
      await loadSelected()
    } else await shelf.track(name, () => shelf.exclusive(() => takeOver(current, installed)))
    parts.onSelected(name)
    return true
  }

  /** Makes `installed` warm beside `current`, then lets it take over. Without room for both there is a gap. */
  async function takeOver(current: Entry, installed: Installed): Promise<void> {
    const { name } = installed
    const gap = !loaded.has(name) && !shelf.fits(installed) && loaded.get(current.name) === current
    if (gap) {
      parts.onNotice({
        id: 'switch-gap',
        level: 'info',
        sentence: `'${current.name}' and '${name}' do not fit the memory limit together, so requests wait for the switch.`,
        hint: 'Raise the memory limit in Settings to switch without a pause.',
      })
      shelf.selected = name
      shelf.move('load')
      await drop(current)
    } else shelf.move('switch')
    try {
      const entry = loaded.get(name) ?? (await prepare(installed))
      shelf.selected = name
      serve(entry)
    } catch (error) {
      if (gap) fail(name, error)
      else {
        shelf.move('switched')
        log.error(toProblem(error).sentence, { checkpoint: name, cause: causeOf(error) })
      }
      throw error
    }
    if (!parts.settings().secondResident) await drop(current)
    for (let victim = shelf.leastUsed(); victim && shelf.overfull(); victim = shelf.leastUsed())
      await drop(victim)
  }

  function replaceEngine(entry: Entry, choice: EngineChoice): Promise<void> {
    return shelf.exclusive(async () => {
      if (loaded.get(entry.name) !== entry) return
      const { name } = entry
      const before = deviceTitle(entry.open.resident.report)
      if (name === shelf.selected) shelf.move('switch')
      try {
        const successor = await prepare(store.open(name), choice)
        successor.open.resident.fallbacks = entry.open.resident.fallbacks
        serve(successor)
      } catch (error) {
        if (name === shelf.selected) shelf.move('switched')
        throw error
      }
      const sentence = `Now on ${deviceTitle(choice.report)} instead of ${before}.`
      log.info(sentence, { checkpoint: name })
      parts.onNotice({ id: `engine-${name}`, level: 'info', sentence, hint: choice.report.why })
      await drop(entry)
    })
  }

  async function unload(wanted: string): Promise<void> {
    const name = store.find(wanted)?.name ?? wanted
    await preparing.get(name)?.promise.catch(() => {})
    const entry = loaded.get(name)
    if (entry !== undefined) await shelf.exclusive(() => drop(entry))
  }

  function drop(entry: Entry): Promise<void> {
    entry.gone ??= end(entry)
    return entry.gone
  }

  async function end(entry: Entry): Promise<void> {
    const { name } = entry
    if (loaded.get(name) === entry) {
      loaded.delete(name)
      if (name === shelf.selected) shelf.move('unload')
      else parts.onChange()
    }
    if (entry.leases > 0) await new Promise<void>((resolve) => entry.onFree.push(resolve))
    if (!(await entry.open.close())) parts.onHung(STUCK)
    log.info(`${name} is unloaded`, { checkpoint: name, rssMb: Math.round(parts.rssMb()) })
  }

  /** Unloads the least used checkpoints beside the selected one until the new one fits. */
  async function makeRoom(installed: Installed): Promise<void> {
    while (!shelf.fits(installed)) {
      const victim = shelf.leastUsed(installed.name)
      if (victim === undefined) return
      await drop(victim)
    }
  }

  return { loadSelected, loadSecond, use, replaceEngine, unload, drop, fail }
}
