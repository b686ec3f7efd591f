import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCheckpoint } from '../../models/checkpoint.ts'
import { LayaError } from '../../models/errors.ts'
import { loadNative } from '../../native-ep/index.ts'
import { COREML_FLAGS } from './candidates.ts'
import type { Engine, EngineSpec } from './engine.ts'
import { readMachine } from './machine.ts'
import { createNativeRuntime, findRuntimeLibrary } from './native.ts'
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

async function openNativeRuntime(spec: EngineSpec): Promise<Runtime> {
  const native = loadNative(dirname(fileURLToPath(import.meta.url)))
  if (native === null) {
    throw new LayaError('engine_unavailable', 'The native Core ML module is not installed.')
  }
  const { osBuild } = await readMachine()
  const units = UNITS.get(spec.coreMlFlags) ?? 'CPUAndGPU'
  return createNativeRuntime(
    native,
    { library: findRuntimeLibrary(), provider: 'CoreML', units, osBuild },
    spec,
  )
}

/** The flags of the stock binding say the same as the units of the keyed options: one field of the spec for both. */
const UNITS = new Map<number | undefined, 'CPUOnly' | 'CPUAndGPU' | 'CPUAndNeuralEngine'>([
  [COREML_FLAGS.cpu, 'CPUOnly'],
  [COREML_FLAGS.gpu, 'CPUAndGPU'],
  [COREML_FLAGS.ane, 'CPUAndNeuralEngine'],
])
