import { LayaError } from '../../models/errors.ts'
import { ENGINE_RULE, strike, UNBROKEN } from '../domain/breaker.ts'
import { deviceTitle } from '../domain/device.ts'
import { candidateName } from '../engine/candidates.ts'
import type { EngineChoice } from './engines.ts'
import type { Loads } from './loads.ts'
import { causeOf, toProblem } from './problem.ts'
import type { Entry, Shelf } from './shelf.ts'

/** Engines that fail: replaced at once, given up at the third failure within a minute. */
export interface Recovery {
  onFailure(entry: Entry, error: Error, how: 'died' | 'threw'): void
  /** Checks the answers of every engine after a sleep and replaces what gives others. */
  resume(): Promise<void>
}

export function createRecovery(shelf: Shelf, loads: Pick<Loads, 'fail'>): Recovery {
  const { parts, loaded } = shelf
  const { store, policy, telemetry, log, now } = parts

  function onFailure(entry: Entry, error: Error, how: 'died' | 'threw'): void {
    if (entry.repair !== null || loaded.get(entry.name) !== entry) return
    log.error(`The engine of ${entry.name} ${how === 'died' ? 'ended' : 'failed'}`, {
      checkpoint: entry.name,
      engine: entry.open.choice.spec.engine,
      cause: causeOf(error),
    })
    repair(entry, toProblem(error).sentence, how === 'threw')
  }

  /** @param doubted one input may be at fault and the engine well: a known question tells. */
  function repair(entry: Entry, reason: string, doubted: boolean): Promise<void> {
    entry.repair ??= (async () => {
      try {
        if (!doubted || !(await entry.open.check())) await replace(entry, reason)
      } finally {
        entry.repair = null
        if (entry.name === shelf.selected && loaded.has(entry.name) && !shelf.suspended) shelf.move('ready')
        else parts.onChange()
      }
    })()
    return entry.repair
  }

  /** Opens the same engine again, or the next one when it failed too often. Never throws. */
  async function replace(entry: Entry, reason: string): Promise<void> {
    const { name } = entry
    if (name === shelf.selected) {
      shelf.step = 'Replacing the engine'
      shelf.move('suspend')
    }
    const struck = strike(entry.breaker, ENGINE_RULE, now())
    entry.breaker = struck.breaker
    telemetry.engineRestarted()
    try {
      await entry.open.reopen(struck.delayMs === null ? await fallBack(entry, reason) : entry.open.choice)
    } catch (error) {
      if (loaded.get(name) === entry) loaded.delete(name)
      await entry.open.close()
      loads.fail(name, error)
    }
  }

  async function fallBack(entry: Entry, reason: string): Promise<EngineChoice> {
    const { name } = entry
    const { spec, report } = entry.open.choice
    const avoided = shelf.avoided.get(name) ?? new Set()
    shelf.avoided.set(name, avoided.add(candidateName(spec)))
    entry.breaker = UNBROKEN
    const choice = await policy.choose(store.open(name), avoided, () => {})
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

  async function resume(): Promise<void> {
    if (!shelf.suspended) return
    shelf.step = 'Checking the answers after sleep'
    parts.onChange()
    for (const entry of [...loaded.values()]) {
      if (entry.repair === null && (await entry.open.check())) continue
      await repair(entry, 'After sleep the answers were not the known ones.', false)
    }
    try {
      await parts.prove()
      shelf.suspended = false
      if (loaded.has(shelf.selected)) shelf.move('ready')
      else parts.onChange()
    } catch (error) {
      shelf.suspended = false
      log.error(toProblem(error).sentence, { cause: causeOf(error) })
      shelf.move('fail', toProblem(error))
    }
  }

  return { onFailure, resume }
}
