/// <reference lib="es2024.string" />
import { type BPE, Tokenizer as Library } from '@huggingface/tokenizers'
import { createMerger } from './bpe.ts'
import { excerpt, LayaError } from './errors.ts'
import { readTokenizerFile, type SpecialTokens, type TokenizerFile } from './special-tokens.ts'

/** Text to token ids, exactly as the checkpoint's own tokenizer does it. */
export interface Tokenizer {
  special: SpecialTokens
  /** Ids without special tokens around them. Special tokens written in the text become their ids. */
  encode(text: string): Int32Array
}

/**
 * @throws LayaError `checkpoint_unusable` naming file and field for a definition that would be tokenized differently
 * from the reference.
 */
export function createTokenizer({ definition, special }: TokenizerFile): Tokenizer {
  const { vocab, merges, ...model } = readModel(definition)
  // Without merges the library keeps no table of its own: half its memory, and most of its start-up time.
  const library = understand('definition', () => {
    const cured = { ...definition, pre_tokenizer: cure(definition.pre_tokenizer) }
    return new Library({ ...cured, model: { ...model, vocab, merges: [] } }, {})
  })
  ;(library.model as BPE).bpe = understand('model.merges', () => createMerger(vocab, merges))
  return {
    special,
    encode(text) {
      // A lone surrogate is one replacement character to the reference, three bytes to the library.
      return Int32Array.from(library.encode(text.toWellFormed(), { add_special_tokens: false }).ids)
    },
  }
}

interface BpeModel {
  vocab: Record<string, number>
  merges: [string, string][] | string[]
  [member: string]: unknown
}

function readModel(definition: Record<string, unknown>): BpeModel {
  const model = definition.model as BpeModel
  if (model.type !== 'BPE')
    throw unusable('model.type', `only BPE can be run, not ${excerpt(String(model.type))}`)
  if (!Array.isArray(model.merges)) throw unusable('model.merges', 'a list is expected')
  for (const field of ['dropout', 'continuing_subword_prefix', 'end_of_word_suffix']) {
    if (model[field]) throw unusable(`model.${field}`, 'tokenizers with it cannot be run')
  }
  return model
}

function understand<T>(field: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof LayaError) throw error
    throw unusable(field, `not understood (${excerpt((error as Error).message)})`, error)
  }
}

function unusable(field: string, fault: string, cause?: unknown): LayaError {
  return new LayaError('checkpoint_unusable', `tokenizer/tokenizer.json: ${field}: ${fault}`, {
    hint: 'Choose a checkpoint in the published Laya layout.',
    ...(cause === undefined ? {} : { cause }),
  })
}

/** The tokenizer of a checkpoint folder. */
export function openTokenizer(folder: string, vocabSize: number): Tokenizer {
  return createTokenizer(readTokenizerFile(folder, vocabSize))
}

interface PreTokenizer {
  type: string
  pretokenizers?: PreTokenizer[]
  [member: string]: unknown
}

// The GPT-2 pattern. Written as a Split, the library reads \s as White_Space, as the reference does.
const gpt2Pattern = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/**
 * Rewrites two pre-tokenizers around faults of the library (tokenizer.test.ts fails once they are gone):
 * Metaspace ignores `split`, and ByteLevel's built-in pattern uses JavaScript's idea of white space.
 */
export function cure(preTokenizer: unknown): unknown {
  const config = preTokenizer as PreTokenizer | null
  if (config?.type === 'Sequence') return { ...config, pretokenizers: config.pretokenizers?.map(cure) }
  if (config?.type === 'Metaspace' && config.split !== false) {
    return sequence(config, matches('▁[^▁]*|[^▁]+'))
  }
  if (config?.type === 'ByteLevel' && config.use_regex !== false) {
    if (config.add_prefix_space === true) {
      throw unusable(
        'pre_tokenizer.add_prefix_space',
        'byte-level tokenizers with a prefix space cannot be run',
      )
    }
    return sequence(matches(gpt2Pattern), { ...config, use_regex: false })
  }
  return config
}

function sequence(...pretokenizers: PreTokenizer[]): PreTokenizer {
  return { type: 'Sequence', pretokenizers }
}

/** A Split that keeps the matches of a pattern: that is what the library does with `invert`. */
function matches(regex: string): PreTokenizer {
  return { type: 'Split', pattern: { Regex: regex }, behavior: 'Removed', invert: true }
}
