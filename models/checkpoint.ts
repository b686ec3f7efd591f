import { join } from 'node:path'
import { type Architecture, readArchitecture } from './config.ts'
import { excerpt, LayaError } from './errors.ts'
import { checkTensors, type TensorFaults } from './inventory.ts'
import { readHeader, type SafetensorsHeader } from './safetensors.ts'
import { readTokenizerFile, type SpecialTokens } from './special-tokens.ts'

/** A checkpoint folder that was read and found complete. Holds no file open. */
export interface Checkpoint {
  folder: string
  architecture: Architecture
  /** Table of tensors of `model.safetensors`, every one present with the right shape. */
  header: SafetensorsHeader
  special: SpecialTokens
  weightsPath: string
}

/**
 * Reads configuration, table of tensors and special tokens of a checkpoint folder. Weights are not read: `scanFinite`
 * checks them once at installation.
 * @throws LayaError `checkpoint_unusable` naming file and field, before any weight is loaded.
 */
export function openCheckpoint(folder: string): Checkpoint {
  const architecture = readArchitecture(folder)
  const weightsPath = join(folder, 'model.safetensors')
  const header = readHeader(weightsPath)
  refuseFaults(architecture, checkTensors(architecture, header))
  const { special } = readTokenizerFile(folder, architecture.vocabSize)
  return { folder, architecture, header, special, weightsPath }
}

function refuseFaults(architecture: Architecture, { missing, surplus, misshapen }: TensorFaults): void {
  const act = misshapen.find(({ name }) => name === 'act_head.2.weight')
  if (act !== undefined) {
    throw unusable(
      `rl_agent_config.json: act_costs asks for ${architecture.actClasses} act classes, act_head.2.weight has ${act.found[0]}`,
    )
  }
  const wrong = misshapen[0]
  if (wrong !== undefined) {
    const [found, expected] = [wrong.found, wrong.expected].map((shape) => `[${shape.join(', ')}]`)
    throw unusable(
      `model.safetensors: tensor '${wrong.name}' has shape ${found}, the configuration needs ${expected}${more(misshapen)}`,
    )
  }
  if (missing[0] !== undefined)
    throw unusable(`model.safetensors: tensor '${missing[0]}' is missing${more(missing)}`)
  if (surplus[0] !== undefined) {
    throw unusable(
      `model.safetensors: tensor '${excerpt(surplus[0])}' does not belong to this network${more(surplus)}`,
    )
  }
}

function more(list: unknown[]): string {
  return list.length > 1 ? ` (and ${list.length - 1} more)` : ''
}

function unusable(sentence: string): LayaError {
  return new LayaError('checkpoint_unusable', sentence, {
    hint: 'Choose a checkpoint in the published Laya layout.',
  })
}
