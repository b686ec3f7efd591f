import type { Architecture } from '../config.ts'
import type { PassShape } from '../pass.ts'

/** Raised with every change of graphs or side files: folders prepared by another version are prepared again. */
export const GRAPH_VERSION = 1

/** S and P of the fixed-length graphs, shortest first. */
export const FIXED_SHAPES = [
  { length: 128, selected: 32 },
  { length: 512, selected: 128 },
  { length: 1024, selected: 288 },
]

export type ProfileName = 'cpu-fp32' | 'cpu-w8' | 'cpu-int8' | 'gpu' | 'gpu-fp32' | 'ane'

/** How one network is written: lengths, operators and precision are parameters of the one writer. */
export interface Profile {
  name: ProfileName
  /**
   * `fixed`: every dimension is a number and only operators that Core ML takes are used.
   * `dynamic`: symbolic lengths and onnxruntime's fused attention, for the CPU provider.
   */
  lengths: 'fixed' | 'dynamic'
  /** Element type of linears and attention in the encoder; residual, norms and head are always float32. */
  body: 'float32' | 'float16'
  /**
   * How a weight whose file type is not the graph's type gets there: a Cast in the graph (folded when the session is
   * created), or a converted copy in the side file (Core ML takes no folded constants at level `disabled`).
   */
  conversion: 'cast' | 'side'
}

const PROFILES: Partial<Record<ProfileName, Profile>> = {
  'cpu-fp32': { name: 'cpu-fp32', lengths: 'dynamic', body: 'float32', conversion: 'cast' },
  gpu: { name: 'gpu', lengths: 'fixed', body: 'float16', conversion: 'side' },
  'gpu-fp32': { name: 'gpu-fp32', lengths: 'fixed', body: 'float32', conversion: 'cast' },
}

export function getProfile(name: ProfileName): Profile {
  const profile = PROFILES[name]
  if (profile === undefined) throw new RangeError(`No graph can be written for the profile ${name}.`)
  return profile
}

/** Profiles that the graph writer has. */
export function listProfiles(): ProfileName[] {
  return Object.keys(PROFILES) as ProfileName[]
}

/** The shape a planner needs for graphs of this profile; `lengths` are those that are loaded. */
export function passShape(
  profile: Profile,
  lengths: number[] = FIXED_SHAPES.map((shape) => shape.length),
): PassShape {
  if (profile.lengths === 'dynamic') return { kind: 'dynamic', maxTokens: MAX_TOKENS }
  return { kind: 'fixed', lengths: FIXED_SHAPES.filter((shape) => lengths.includes(shape.length)) }
}

/** Tokens of one pass of a dynamic graph. */
export const MAX_TOKENS = 2048

/** Positions the rotary tables of a dynamic graph cover: the longest line of a pass. */
export function rotaryPositions(architecture: Architecture): number {
  return Math.max(MAX_TOKENS, architecture.maxLen)
}

/** File name of a graph in the work folder. */
export function graphFile(profile: Profile, length?: number): string {
  return profile.lengths === 'fixed' ? `laya-${profile.name}-s${length}.onnx` : `laya-${profile.name}.onnx`
}

/** File name of the converted weights in the work folder. One file serves every length of a profile. */
export function sideFileName(profile: Profile): string {
  return `laya-${profile.name}.weights`
}

export const WEIGHTS_FILE = 'model.safetensors'
