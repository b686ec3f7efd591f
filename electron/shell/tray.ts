import type { CheckpointState, Command, Phase, Snapshot } from '../contract.ts'
import { deviceTitle } from '../domain/device.ts'
import { serves } from '../domain/phase.ts'

/** Shape of the icon: hollow, dotted, filled, filled with a mark, slashed. Template images have no colour. */
export const SHAPES = ['off', 'loading', 'ready', 'busy', 'failed'] as const
export type Shape = (typeof SHAPES)[number]

/** What a click on a menu item does: a command as the panel sends them, or something that only the shell can do. */
export type Act = Command | { kind: 'showPanel' } | { kind: 'about' }

export interface Item {
  label: string
  /** Absent: cannot be clicked. */
  act?: Act
  checked?: boolean
  toolTip?: string
  submenu?: Item[]
}

export interface TrayFace {
  shape: Shape
  tooltip: string
  /** Groups are divided by lines. */
  menu: Item[][]
}

/** A menu as wide as the screen helps nobody: the whole sentence is in the tool tip and in the panel. */
const LABEL_CHARS = 72

const WORDS: Record<Phase, string> = {
  stopped: 'Off',
  starting: 'Starting',
  loading: 'Loading',
  warming: 'Warming up',
  ready: 'Ready',
  switching: 'Switching',
  unloaded: 'Nothing loaded',
  draining: 'Finishing',
  stopping: 'Stopping',
  failed: 'Failed',
}

/** The whole menu-bar item as a function of what is known. */
export function renderTray(snapshot: Snapshot): TrayFace {
  return { shape: shapeOf(snapshot), tooltip: tooltipOf(snapshot), menu: menuOf(snapshot) }
}

function shapeOf({ phase, load, notices }: Snapshot): Shape {
  if (phase === 'failed') return 'failed'
  if (phase === 'stopped' || phase === 'unloaded') return 'off'
  if (!serves(phase)) return 'loading'
  const marked = phase === 'switching' || load.inFlight > 0 || load.queued > 0
  return marked || notices.some(({ level }) => level !== 'info') ? 'busy' : 'ready'
}

function tooltipOf({ phase, checkpoint, device, latency }: Snapshot): string {
  const parts = [WORDS[phase]]
  if (checkpoint !== undefined && phase !== 'stopped' && phase !== 'unloaded') parts.push(checkpoint)
  if (serves(phase) && device !== undefined) parts.push(deviceTitle(device))
  if (serves(phase) && latency.p50 > 0) parts.push(milliseconds(latency.p50))
  return parts.join(' · ')
}

function menuOf(snapshot: Snapshot): Item[][] {
  const { phase, endpoint, error, settings } = snapshot
  const off = phase === 'stopped' || phase === 'failed'
  const header = headerOf(snapshot)
  const top: Item[] = [{ label: shorten(header), toolTip: header }]
  if (error?.remedy) top.push({ label: error.remedy.label, act: error.remedy.command })
  const copyable = endpoint !== undefined && !off
  return [
    top,
    [
      off
        ? { label: 'Start serving', act: { kind: 'start' } }
        : { label: 'Stop serving', act: { kind: 'stop' } },
    ],
    [
      { label: 'Copy URL', ...(copyable && { act: { kind: 'copy', what: 'url' } }) },
      { label: 'Copy curl', ...(copyable && { act: { kind: 'copy', what: 'curl' } }) },
    ],
    [{ label: 'Checkpoint', submenu: snapshot.checkpoints.map((one) => checkpointItem(one, snapshot)) }],
    [
      { label: 'Open panel', act: { kind: 'showPanel' } },
      benchmarkItem(snapshot),
      { label: 'Open logs', act: { kind: 'open', what: 'logs' } },
    ],
    [
      {
        label: 'Open at login',
        checked: settings.openAtLogin,
        act: { kind: 'settings', patch: { openAtLogin: !settings.openAtLogin } },
      },
    ],
    [
      { label: 'About Laya Bar', act: { kind: 'about' } },
      { label: 'Quit Laya Bar', act: { kind: 'quit' } },
    ],
  ]
}

function headerOf({ phase, endpoint, error, progress }: Snapshot): string {
  const address = endpoint?.url.replace(/^https?:\/\//, '').replace(/\/$/, '')
  if (phase === 'stopped') return 'Off'
  if (phase === 'failed' && error !== undefined) return error.sentence
  if (serves(phase) && address !== undefined) return `Serving at ${address}`
  if (phase === 'unloaded' && address !== undefined) return `Nothing loaded · listening at ${address}`
  return progress ?? WORDS[phase]
}

function benchmarkItem({ phase, benchmark }: Snapshot): Item {
  if (benchmark?.state === 'running') return { label: 'Cancel benchmark', act: { kind: 'cancelBenchmark' } }
  return {
    label: 'Run benchmark…',
    ...(serves(phase) && { act: { kind: 'benchmark', mode: 'quick' } as const }),
  }
}

function checkpointItem(one: CheckpointState, { phase, checkpoint }: Snapshot): Item {
  const { name, state, progress } = one
  const title = one.demo ? `${name} (demo)` : name
  const idle = phase === 'stopped' || phase === 'failed'
  switch (state) {
    case 'resident':
      return {
        label: `${title} (resident)`,
        checked: name === checkpoint,
        ...(name !== checkpoint && { act: { kind: 'use', checkpoint: name } as const }),
      }
    case 'installed':
      return {
        label: title,
        ...(idle
          ? { checked: name === checkpoint, act: { kind: 'settings', patch: { checkpoint: name } } as const }
          : { act: { kind: 'use', checkpoint: name } as const }),
      }
    case 'available':
      // Nothing is downloaded from a menu without its size being read first.
      return { label: `Install ${title}… ${bytes(one.bytes)}`, act: { kind: 'showPanel' } }
    case 'paused':
      return { label: `Resume ${title}${share(progress)}`, act: { kind: 'resume', checkpoint: name } }
    case 'broken':
      return { label: `${title}: cannot be used`, act: { kind: 'showPanel' }, toolTip: one.error?.sentence }
    default:
      return { label: `${PROGRESS[state]} ${title}…${share(progress)}` }
  }
}

const PROGRESS = {
  downloading: 'Downloading',
  verifying: 'Verifying',
  preparing: 'Preparing',
  loading: 'Loading',
} as const

function share(progress: CheckpointState['progress']): string {
  if (progress === undefined || progress.total <= 0) return ''
  return ` ${Math.floor((100 * progress.done) / progress.total)} %`
}

function bytes(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(1)} GB` : `${Math.round(count / 1e6)} MB`
}

function milliseconds(value: number): string {
  return `${value < 100 ? value.toFixed(1) : Math.round(value)} ms`
}

function shorten(text: string): string {
  return text.length <= LABEL_CHARS ? text : `${text.slice(0, LABEL_CHARS - 1).trimEnd()}…`
}
