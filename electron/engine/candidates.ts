import type { EngineName, EngineVerdict, Precision } from '../contract.ts'
import type { ProfileName } from './engine.ts'
import type { Machine } from './machine.ts'

/** One way to run a checkpoint: an engine with one precision. */
export interface Candidate {
  engine: EngineName
  profile: ProfileName
  precision: Precision
  /** Devices its options allow beside the CPU, as `domain/device.ts` reads them. */
  units: 'none' | 'gpu' | 'ane' | 'all'
  coreMlFlags?: number
}

/**
 * Core ML flags of the stock binding (accelerators.md 11.1): 0x10 MLProgram, 0x08 static shapes only, with 0x20 CPU and
 * GPU, 0x04 CPU and Neural Engine, 0x01 CPU alone (the timing probe).
 */
export const COREML_FLAGS = { gpu: 0x38, ane: 0x1c, cpu: 0x19 } as const

/*
 * What the package can run, by platform (its binaries, onnxruntime-node 1.30.0). Order = order of trial.
 *
 *                 macOS arm64            macOS x64 or translated   Linux x64, arm64          Windows
 * coreml-native   gpu, (ane on request)  –                         –                         –
 * coreml          gpu, (ane on request)  –                         –                         –
 * webgpu          gpu (Metal)            –                         gpu-fp32 with a driver    –
 * cpu             int8, w8, fp32         –                         int8, w8, fp32            int8, w8, fp32
 *
 * The Neural Engine is never tried in a virtual machine, where its compiler has hung for 27 minutes.
 */
const GPU: Omit<Candidate, 'engine'> = { profile: 'gpu', precision: 'float16', units: 'gpu' }
const CORE_ML_GPU = { ...GPU, coreMlFlags: COREML_FLAGS.gpu }
const CORE_ML_ANE: Omit<Candidate, 'engine'> = {
  profile: 'ane',
  precision: 'float16',
  units: 'ane',
  coreMlFlags: COREML_FLAGS.ane,
}

/** Always there, and the yardstick of the parity gate. */
export const REFERENCE: Candidate = {
  engine: 'cpu',
  profile: 'cpu-fp32',
  precision: 'float32',
  units: 'none',
}
const CPU: Candidate[] = [
  { engine: 'cpu', profile: 'cpu-int8', precision: 'int8', units: 'none' },
  { engine: 'cpu', profile: 'cpu-w8', precision: 'int8', units: 'none' },
  REFERENCE,
]

export interface CandidateChoice {
  /** native-ep was found and loads. */
  native: boolean
  /** The user asked for the Neural Engine. */
  neuralEngine: boolean
  /** `auto`, or the only engine that may run. */
  requested: 'auto' | EngineName
  /** Profiles the graph writer has; others are not offered. */
  profiles: readonly ProfileName[]
}

/**
 * The engines of this machine in order of trial, and those it cannot try with the reason in words. A pinned engine
 * leaves only its own candidates in the first list, without float32 on the CPU as a fallback: that is the caller's
 * decision.
 */
export function listCandidates(
  machine: Machine,
  choice: CandidateChoice,
): { candidates: Candidate[]; unavailable: EngineVerdict[] } {
  const candidates: Candidate[] = []
  const unavailable: EngineVerdict[] = []
  const offer = (candidate: Candidate, obstacle: string | undefined): void => {
    if (choice.requested !== 'auto' && candidate.engine !== choice.requested) return
    if (!choice.profiles.includes(candidate.profile)) return
    if (obstacle === undefined) candidates.push(candidate)
    else {
      const { engine, precision } = candidate
      unavailable.push({ engine, precision, state: 'unavailable', reason: obstacle })
    }
  }

  const noCoreMl = coreMlObstacle(machine)
  const noNative = noCoreMl ?? (choice.native ? undefined : 'The native Core ML module is not installed.')
  offer({ engine: 'coreml-native', ...CORE_ML_GPU }, noNative)
  offer({ engine: 'coreml', ...CORE_ML_GPU }, noCoreMl)
  if (choice.neuralEngine) {
    const noAne = machine.virtual ? 'A virtual machine has no Neural Engine.' : undefined
    offer({ engine: 'coreml-native', ...CORE_ML_ANE }, noNative ?? noAne)
    offer({ engine: 'coreml', ...CORE_ML_ANE }, noCoreMl ?? noAne)
  }
  const webgpu: Candidate =
    machine.platform === 'darwin'
      ? { engine: 'webgpu', ...GPU }
      : { engine: 'webgpu', profile: 'gpu-fp32', precision: 'float32', units: 'gpu' }
  offer(webgpu, webGpuObstacle(machine))
  for (const candidate of CPU) offer(candidate, undefined)
  return { candidates, unavailable }
}

function coreMlObstacle({ platform, arch, translated }: Machine): string | undefined {
  if (platform !== 'darwin') return 'Core ML exists on macOS only.'
  if (arch !== 'arm64' || translated) return 'Core ML needs the Apple silicon version of this program.'
  return undefined
}

function webGpuObstacle({ platform, arch, translated, vulkanDriver }: Machine): string | undefined {
  if (platform === 'darwin') {
    return arch === 'arm64' && !translated
      ? undefined
      : 'WebGPU needs the Apple silicon version of this program.'
  }
  if (platform !== 'linux' || arch !== 'x64') return 'WebGPU is not part of the runtime for this system.'
  return vulkanDriver ? undefined : 'No Vulkan driver was found.'
}

/** Stable name of a candidate in stamps, logs and on the command line: "coreml/gpu". */
export const candidateName = ({ engine, profile }: Pick<Candidate, 'engine' | 'profile'>): string =>
  `${engine}/${profile}`
