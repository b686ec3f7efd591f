import type {
  Device,
  DeviceReport,
  EngineName,
  EngineVerdict,
  ParityVerdict,
  Precision,
  Proof,
} from '../contract.ts'

/** A session counts as accelerated when it needs at most this share of the time of a CPU-only one. */
export const PROBE_LIMIT = 0.8

/** Everything that was found out about where an engine runs. Collected by `engine/placement.ts`, judged here alone. */
export interface Evidence {
  requested: 'auto' | EngineName
  requireDevice: boolean
  engine: EngineName
  precision: Precision
  /** Units the session's options allow beside the CPU; `all` leaves the choice to Core ML. */
  units: 'none' | 'gpu' | 'ane' | 'all'
  /** The session exists although nodes on the CPU provider were forbidden: every node belongs to the engine. */
  assigned: boolean
  /** Kernel events of a profiled run, by owner. */
  profile?: { engine: number; others: number }
  /** Cost-weighted shares of Core ML's own plan, 0..1. A plan is an intention; alone it proves nothing. */
  plan?: { cpu: number; gpu: number; ane: number }
  /** Median of this session over the median of a CPU-only session, same graph, same length, same machine. */
  probe?: { ratio: number }
  /** Why this engine was chosen, as a part of a sentence: "fastest of 3 engines that agree with float32". */
  choice: string
  partitions?: number
  nodeShare?: number
  compileMs?: number
  cacheHit?: boolean
  parity?: ParityVerdict
  candidates?: EngineVerdict[]
}

/**
 * Judges the evidence (accelerators.md 12). `gpu` and `ane` need the node assignment and the timing probe to agree,
 * and the plan as well where the options leave the unit open. This is the only place that may say either.
 */
export function reportDevice(evidence: Evidence): DeviceReport {
  const { active, proof, reason } = judge(evidence)
  const { requested, requireDevice, engine, precision, choice } = evidence
  const report: DeviceReport = {
    requested,
    requireDevice,
    active,
    engine,
    precision,
    proof,
    why: sentence(choice === '' ? reason : `${choice}; ${reason}`),
  }
  if (evidence.partitions !== undefined) report.partitions = evidence.partitions
  if (evidence.nodeShare !== undefined) report.nodeShare = evidence.nodeShare
  if (evidence.compileMs !== undefined) report.compileMs = evidence.compileMs
  if (evidence.cacheHit !== undefined) report.cacheHit = evidence.cacheHit
  if (evidence.parity !== undefined) report.parity = evidence.parity
  if (evidence.candidates !== undefined) report.candidates = evidence.candidates
  return report
}

interface Judgement {
  active: Device
  proof: Proof[]
  reason: string
}

const unproven = (reason: string): Judgement => ({ active: 'unproven', proof: [], reason })

function judge({ engine, units, assigned, profile, plan, probe }: Evidence): Judgement {
  const proof: Proof[] = assigned ? ['assignment'] : []
  const profiled = profile !== undefined && profile.engine > 0 && profile.others === 0
  if (profiled) proof.push('profile')

  if (engine === 'cpu') {
    return {
      active: 'cpu',
      proof: profiled ? proof : ['assignment'],
      reason: 'only the CPU provider is loaded',
    }
  }
  const name = ENGINE_TITLES[engine]
  if (plan !== undefined && plan.cpu > 0.5) {
    return {
      active: 'cpu',
      proof: [...proof, 'plan'],
      reason: `${name} plans ${percent(plan.cpu)} of the work on the CPU`,
    }
  }
  if (!assigned) return unproven(`${name} does not hold every node of the network`)
  if (profile !== undefined && !profiled)
    return unproven(`a profiled run had ${profile.others} steps outside ${name}`)
  if (probe === undefined) return unproven(`${name} was not timed against the CPU`)
  if (!(probe.ratio <= PROBE_LIMIT)) {
    return unproven(
      `${name} needs ${probe.ratio.toFixed(2)} of the time of the CPU, which does not show another device`,
    )
  }
  const unit = unitOf(units, plan)
  if (unit === undefined)
    return unproven(`${name} may use the GPU or the Neural Engine, and no plan says which`)
  proof.push(...(plan === undefined ? [] : (['plan'] as const)), 'probe')
  const faster = `${name} holds every node and takes ${probe.ratio.toFixed(2)} of the time of the CPU`
  return { active: unit, proof, reason: faster }
}

/** The unit options and plan agree on, undefined when they leave it open or contradict each other. */
function unitOf(units: Evidence['units'], plan: Evidence['plan']): 'gpu' | 'ane' | undefined {
  const planned = plan === undefined ? undefined : plan.gpu >= plan.ane ? 'gpu' : 'ane'
  if (units === 'all') return planned
  if (units === 'none') return undefined
  return planned === undefined || planned === units ? units : undefined
}

/** True when the checkpoint runs elsewhere than the user asked, or where nobody can tell. */
export function isDeviceMismatch({ requested, engine, active }: DeviceReport): boolean {
  if (requested === 'auto') return false
  if (engine !== requested) return true
  return requested !== 'cpu' && (active === 'cpu' || active === 'unproven')
}

const ENGINE_TITLES: Record<EngineName, string> = {
  cpu: 'CPU',
  coreml: 'Core ML',
  'coreml-native': 'Core ML',
  webgpu: 'WebGPU',
}

/** "GPU (Core ML)", "Neural Engine (Core ML)", "CPU", "Core ML (device not proven)". */
export function deviceTitle({ engine, active }: Pick<DeviceReport, 'engine' | 'active'>): string {
  const name = ENGINE_TITLES[engine]
  if (engine === 'cpu') return 'CPU'
  if (active === 'unproven') return `${name} (device not proven)`
  const device = { cpu: 'CPU', gpu: 'GPU', ane: 'Neural Engine' }[active]
  return `${device} (${name})`
}

const percent = (share: number): string => `${Math.round(share * 100)} %`

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
