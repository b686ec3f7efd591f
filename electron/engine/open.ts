import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCheckpoint } from '../../models/checkpoint.ts'
import { LayaError } from '../../models/errors.ts'
import { loadNative } from '../../native-ep/index.ts'
import { COREML_FLAGS } from './candidates.ts'
import type { Engine, EngineSpec } from './engine.ts'
import { readMachine } from './machine.ts'
import {
  type ComputePlan,
  type ComputeUnits,
  createNativeRuntime,
  findRuntimeLibrary,
  type NativeEp,
} from './native.ts'
import { openNetwork, type Runtime } from './network.ts'
import { createStockRuntime } from './onnx.ts'

/**
 * Opens the engine a spec names, warm.
 * @throws LayaError `checkpoint_unusable`, `engine_unavailable`, `inference_failed`.
 */
export async function openEngine(spec: EngineSpec, onProgress: (step: string) => void): Promise<Engine> {
  const checkpoint = openCheckpoint(spec.checkpointFolder)
  const runtime = spec.engine === 'coreml-native' ? await openNativeRuntime(spec) : createStockRuntime(spec)
  return openNetwork(runtime, spec, checkpoint, onProgress)
}

/**
 * Core ML's plan for a compiled bundle. It can crash the process: for throw-away processes only.
 * @throws LayaError `engine_unavailable` without the native module; the system's own error otherwise.
 */
export async function readPlan(bundle: string, units: ComputeUnits): Promise<ComputePlan> {
  return requireNative().computePlan(bundle, units)
}

async function openNativeRuntime(spec: EngineSpec): Promise<Runtime> {
  const native = requireNative()
  const { osBuild } = await readMachine()
  const units = unitsOf(spec.coreMlFlags)
  return createNativeRuntime(
    native,
    { library: findRuntimeLibrary(), provider: 'CoreML', units, osBuild },
    spec,
  )
}

function requireNative(): NativeEp {
  const native = loadNative(dirname(fileURLToPath(import.meta.url)))
  if (native !== null) return native
  throw new LayaError('engine_unavailable', 'The native Core ML module is not installed.')
}

/** The flags of the stock binding say the same as the units of the keyed options: one field of the spec for both. */
export function unitsOf(coreMlFlags: number | undefined): ComputeUnits {
  if (coreMlFlags === COREML_FLAGS.cpu) return 'CPUOnly'
  return coreMlFlags === COREML_FLAGS.ane ? 'CPUAndNeuralEngine' : 'CPUAndGPU'
}
