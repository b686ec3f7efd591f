import { readArchitecture } from '../../models/config.ts'
import { buildRows } from '../../models/sequence.ts'
import { openTokenizer } from '../../models/tokenizer.ts'
import type { Encoder } from './engine.ts'

/**
 * The tokenizer of a checkpoint folder with its window.
 * @throws LayaError `checkpoint_unusable`.
 */
export async function openEncoder(checkpointFolder: string): Promise<Encoder> {
  const { vocabSize, maxLen, headMaxLen } = readArchitecture(checkpointFolder)
  const tokenizer = openTokenizer(checkpointFolder, vocabSize)
  return {
    window: { maxLen, headMaxLen },
    encode: async (state, questions, window) => buildRows(tokenizer, state, questions, window),
    close: async () => {},
  }
}
