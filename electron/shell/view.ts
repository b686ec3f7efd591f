import type { CheckpointState, Notice, Phase, Settings, Snapshot, Thermal } from '../contract.ts'
import type { SupervisorState } from '../domain/supervisor.ts'

/** What the shell knows by itself, whether or not a service runs. */
export interface ShellFacts {
  version: string
  supervisor: SupervisorState
  /** Whether a service process exists at this moment. */
  running: boolean
  /** The last snapshot of a service process and the process it came from. */
  heard: { snapshot: Snapshot; generation: number } | null
  /** From the settings file; the service's own copy is newer while one runs. */
  settings: Settings
  /** What the system says, not what was asked for. */
  openAtLogin: boolean
  thermal: Thermal
  onBattery: boolean
  os: string
  notices: Notice[]
  now: number
}

/** Phases in which the words of the running process count; in all others the supervisor knows better. */
const PROCESS_SPEAKS: ReadonlySet<Phase> = new Set<Phase>([
  'loading',
  'warming',
  'ready',
  'switching',
  'unloaded',
  'draining',
  'failed',
])

/**
 * What the panel and the menu show: the service's own snapshot while its process lives, and otherwise what is left
 * of it, marked by the phase and the problem of the supervisor. There is always one, so that the interface never
 * depends on the service to start.
 */
export function composeSnapshot(facts: ShellFacts): Snapshot {
  const { supervisor, heard, openAtLogin, thermal, onBattery, notices } = facts
  const current = heard !== null && heard.generation === supervisor.generation && facts.running
  const base = current ? heard.snapshot : withoutService(facts)
  const speaks = current && PROCESS_SPEAKS.has(supervisor.phase)
  const snapshot: Snapshot = {
    ...base,
    ...(!speaks && { phase: supervisor.phase, since: supervisor.since }),
    host: { ...base.host, thermal, onBattery },
    settings: { ...base.settings, openAtLogin },
    notices: [...notices, ...base.notices],
  }
  const progress = speaks ? base.progress : progressOf(facts)
  const error = speaks ? (base.error ?? supervisor.problem) : supervisor.problem
  return {
    ...omit(snapshot),
    ...(progress !== undefined && { progress }),
    ...(error !== undefined && { error }),
  }
}

function omit({ progress: _progress, error: _error, ...rest }: Snapshot): Snapshot {
  return rest
}

function progressOf({ supervisor, now }: ShellFacts): string | undefined {
  const { phase, retryAt, restarts } = supervisor
  if (retryAt !== undefined) {
    const seconds = Math.max(1, Math.ceil((retryAt - now) / 1000))
    return `Starting again in ${seconds} s (attempt ${restarts} of 3)`
  }
  if (phase === 'starting') return 'Starting the service'
  if (phase === 'stopping') return 'Stopping: requests that wait are refused, running ones may finish'
  return undefined
}

/** The last charts and checkpoints stay to be looked at; what only a live service can say is gone. */
function withoutService({ version, supervisor, heard, settings, os }: ShellFacts): Snapshot {
  const last = heard?.snapshot
  return {
    version,
    phase: supervisor.phase,
    since: supervisor.since,
    checkpoint: settings.checkpoint,
    checkpoints: (last?.checkpoints ?? []).map(settle),
    load: {
      inFlight: 0,
      queued: 0,
      capacity: settings.queueCapacity,
      served: 0,
      refused: 0,
      failed: 0,
      abandoned: 0,
      truncated: 0,
    },
    latency: last?.latency ?? { p50: 0, p95: 0, p99: 0, minutes2: [], hour: [], marks: [] },
    host: { rssMb: 0, thermal: 'unknown', onBattery: false, chip: last?.host.chip ?? '', os },
    recents: [],
    notices: [],
    settings,
    ...(last?.benchmark && last.benchmark.state !== 'running' && { benchmark: last.benchmark }),
    logs: last?.logs ?? [],
  }
}

/** Nothing is resident and no job runs without a process; a download keeps what it has. */
function settle({ progress, ...one }: CheckpointState): CheckpointState {
  switch (one.state) {
    case 'resident':
    case 'loading':
      return { ...one, state: 'installed' }
    case 'downloading':
    case 'paused':
      return {
        ...one,
        state: 'paused',
        ...(progress && { progress: { ...progress, perSecond: 0, etaMs: null } }),
      }
    case 'verifying':
    case 'preparing':
      return { ...one, state: one.bytesOnDisk > 0 ? 'installed' : 'available' }
    default:
      return one
  }
}
