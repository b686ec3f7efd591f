import type { PowerMonitor } from 'electron'
import type { Snapshot, Thermal, ToService } from '../contract.ts'

type Report = Extract<ToService, { kind: 'power' }>

export interface PowerParts {
  monitor: Pick<PowerMonitor, 'on' | 'getCurrentThermalState' | 'isOnBatteryPower'>
  /** Tells the service, when there is one. */
  post(report: Report): void
  /** What the panel shows changed. */
  onChange(): void
  /** The system shuts down or restarts: nothing may hold it up. */
  onShutdown(): void
  blocker: { start(type: 'prevent-app-suspension'): number; stop(id: number): boolean | undefined }
}

export interface Power {
  thermal(): Thermal
  onBattery(): boolean
  /** For a new process, which has heard nothing yet. */
  report(): Report
  /** Keeps the system awake exactly while a benchmark or a download runs (electron#30859: it does keep it awake). */
  holdFor(snapshot: Snapshot): void
  release(): void
}

const STATES: readonly Thermal[] = ['nominal', 'fair', 'serious', 'critical']

/** Sleep, heat and battery as the service needs to hear of them. */
export function createPower({ monitor, post, onChange, onShutdown, blocker }: PowerParts): Power {
  let thermal = known(monitor.getCurrentThermalState())
  let onBattery = monitor.isOnBatteryPower()
  let asleep = false
  let hold: number | null = null

  // macOS sends suspend and resume twice (electron#24803): only a change counts.
  monitor.on('suspend', () => sleep(true))
  monitor.on('resume', () => sleep(false))
  monitor.on('thermal-state-change', ({ state }) => change(known(state), onBattery))
  monitor.on('on-battery', () => change(thermal, true))
  monitor.on('on-ac', () => change(thermal, false))
  monitor.on('shutdown', () => onShutdown())

  return {
    thermal: () => thermal,
    onBattery: () => onBattery,
    report,
    holdFor({ benchmark, checkpoints }) {
      const busy = benchmark?.state === 'running' || checkpoints.some(({ state }) => state === 'downloading')
      if (busy) hold ??= blocker.start('prevent-app-suspension')
      else release()
    },
    release,
  }

  function report(): Report {
    return { kind: 'power', thermal, onBattery }
  }

  function sleep(now: boolean): void {
    if (asleep === now) return
    asleep = now
    // The charger may have been taken out meanwhile, without an event.
    onBattery = monitor.isOnBatteryPower()
    post({ ...report(), event: now ? 'suspend' : 'resume' })
    onChange()
  }

  function change(heat: Thermal, battery: boolean): void {
    if (heat === thermal && battery === onBattery) return
    thermal = heat
    onBattery = battery
    post(report())
    onChange()
  }

  function release(): void {
    if (hold !== null) blocker.stop(hold)
    hold = null
  }
}

function known(state: string): Thermal {
  return STATES.find((one) => one === state) ?? 'unknown'
}
