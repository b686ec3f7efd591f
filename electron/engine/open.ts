import { openCheckpoint } from '../../models/checkpoint.ts'
import type { Engine, EngineSpec } from './engine.ts'
import { openOnnxEngine } from './onnx.ts'

/**
 * Opens the engine a spec names, warm.
 * @throws LayaError `checkpoint_unusable`, `engine_unavailable`, `inference_failed`.
 */
export async function openEngine(spec: EngineSpec, onProgress: (step: string) => void): Promise<Engine> {
  const checkpoint = openCheckpoint(spec.checkpointFolder)
  return openOnnxEngine(spec, checkpoint, onProgress)
}
