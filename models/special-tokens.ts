import { readJsonFile } from './config.ts'
import { excerpt, LayaError } from './errors.ts'

/** Ids of the tokens the program itself puts into a row, and the text of the mask token. */
export interface SpecialTokens {
  cls: number
  sep: number
  pad: number
  mask: number
  unk: number
  maskString: string
}

/** `tokenizer.json`, parsed once: 34 MB of text for the multilingual checkpoint. */
export interface TokenizerFile {
  definition: Record<string, unknown>
  special: SpecialTokens
}

/**
 * Reads both tokenizer files of a checkpoint folder. Names come from `tokenizer_config.json`, ids from the added
 * tokens; the ids in `encoder/config.json` are wrong for one published checkpoint and are never used.
 * @param vocabSize rows of the embedding matrix: no token may have an id beyond it.
 * @throws LayaError `checkpoint_unusable` naming file and field.
 */
export function readTokenizerFile(folder: string, vocabSize: number): TokenizerFile {
  const config = readJsonFile(folder, 'tokenizer/tokenizer_config.json')
  const definition = readJsonFile(folder, 'tokenizer/tokenizer.json')
  const added = new Map<string, number>()
  for (const token of Array.isArray(definition.added_tokens) ? definition.added_tokens : []) {
    added.set(String(token?.content), Number(token?.id))
  }
  const name = (role: string): string => {
    const value = config[`${role}_token`]
    const text =
      typeof value === 'string' ? value : (value as { content?: unknown } | null | undefined)?.content
    if (typeof text === 'string' && text !== '') return text
    throw unusable('tokenizer/tokenizer_config.json', `${role}_token: missing`)
  }
  const id = (role: string): number => {
    const found = added.get(name(role))
    if (found !== undefined && Number.isInteger(found) && found >= 0) return found
    throw unusable(
      'tokenizer/tokenizer.json',
      `added_tokens: no id for ${role}_token '${excerpt(name(role))}'`,
    )
  }
  const special = {
    cls: id('cls'),
    sep: id('sep'),
    pad: id('pad'),
    mask: id('mask'),
    unk: id('unk'),
    maskString: name('mask'),
  }
  refuseIdsBeyond(vocabSize, definition, added)
  return { definition, special }
}

function refuseIdsBeyond(
  vocabSize: number,
  definition: Record<string, unknown>,
  added: Map<string, number>,
): void {
  const vocabulary = (definition.model as { vocab?: unknown } | null | undefined)?.vocab
  if (typeof vocabulary !== 'object' || vocabulary === null || Array.isArray(vocabulary)) {
    throw unusable('tokenizer/tokenizer.json', 'model.vocab: an object of token ids is expected')
  }
  for (const tokens of [Object.entries(vocabulary), added]) {
    for (const [token, id] of tokens) {
      if (Number.isInteger(id) && id >= 0 && id < vocabSize) continue
      throw unusable(
        'tokenizer/tokenizer.json',
        `token '${excerpt(token)}' has the id ${id}, but the embeddings have ${vocabSize} rows`,
      )
    }
  }
}

function unusable(file: string, fault: string): LayaError {
  return new LayaError('checkpoint_unusable', `${file}: ${fault}`, {
    hint: 'Choose a checkpoint in the published Laya layout.',
  })
}
