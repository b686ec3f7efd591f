import { LayaError } from '../../models/errors.ts'
import { type Json, type JsonObject, parseJson } from '../../models/json.ts'
import { createQuestion, type Question, type QuestionParts, textOf } from '../../models/question.ts'
import type { TokenRow } from '../../models/sequence.ts'
import type { Precision } from '../contract.ts'
import type { Encoder } from './engine.ts'

/** The fixed questions every engine is compared on (`bench/parity-set.json`), tolerances included. */
export interface ParitySet {
  version: number
  tolerances: Record<Precision, number>
  nearTieFactor: number
  cases: ParityCase[]
}

export interface ParityCase {
  id: string
  /** Part of the short check at start. */
  quick: boolean
  state: { text: string; list: boolean }
  questions: Question[]
}

/** One question of the set as a row of this checkpoint. */
export interface ParityRow {
  question: Question
  row: TokenRow
  /** Position of its case: its questions are asked in one request. */
  group: number
}

/**
 * Reads the set from the text of its file.
 * @throws LayaError `internal_error` when the file is damaged: it is a part of the program.
 */
export function readParitySet(text: string): ParitySet {
  try {
    const { version, tolerances, nearTieFactor } = JSON.parse(text) as ParitySet
    if (!(tolerances.float32 > 0 && tolerances.float16 > 0 && tolerances.int8 > 0 && nearTieFactor > 0)) {
      throw new RangeError('tolerances are missing')
    }
    // Bodies go through the lossless reader: their numbers and the order of their members are part of the texts.
    const root = parseJson(text) as JsonObject
    return { version, tolerances, nearTieFactor, cases: (root.get('cases') as JsonObject[]).map(readCase) }
  } catch (cause) {
    throw new LayaError('internal_error', 'The parity set of the program is damaged.', {
      hint: 'Install Laya Bar again.',
      cause,
    })
  }
}

function readCase(entry: JsonObject): ParityCase {
  const body = entry.get('body') as JsonObject
  const state = body.get('state') as Json
  return {
    id: entry.get('id') as string,
    quick: entry.get('quick') === true,
    state: { text: textOf(state), list: Array.isArray(state) },
    questions: Array.from(body.get('questions') as JsonObject, ([id, definition]) =>
      createQuestion({ ...Object.fromEntries(definition as JsonObject), id } as QuestionParts),
    ),
  }
}

/**
 * The set as rows of a checkpoint. A case that cannot be asked here (its markers do not fit the window) is left out:
 * the service would refuse it as well.
 */
export async function encodeParitySet(
  { cases }: ParitySet,
  encoder: Encoder,
  quick: boolean,
): Promise<ParityRow[]> {
  const rows: ParityRow[] = []
  for (const [group, { state, questions }] of cases.filter((one) => one.quick || !quick).entries()) {
    try {
      const encoded = await encoder.encode(state, questions, encoder.window)
      for (const [at, row] of encoded.entries()) rows.push({ question: questions[at]!, row, group })
    } catch (error) {
      if (!(error instanceof LayaError && error.code === 'invalid_question')) throw error
    }
  }
  return rows
}
