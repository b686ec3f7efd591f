import { LayaError } from '../../models/errors.ts'
import { type PassRow, planPasses, type RowOutput } from '../../models/pass.ts'
import { createQuestion, type Question } from '../../models/question.ts'
import type { Encoder, Engine } from '../engine/engine.ts'

const STATE = { text: 'My card was charged twice for one order, and the parcel never came.', list: false }
const QUESTIONS: Question[] = [
  createQuestion({
    id: 'choice',
    type: 'choice',
    instructions: 'Which team should answer?',
    criteria: new Map([
      ['payments', 'charges and refunds'],
      ['delivery', 'parcels'],
      ['other', null],
    ]),
  }),
  createQuestion({
    id: 'score',
    type: 'score',
    instructions: 'How urgent is it?',
    criteria: ['low', 'some', 'high'],
  }),
  createQuestion({ id: 'noul', type: 'noul', instructions: 'Does the customer ask for money back?' }),
]
const TYPES = { choice: 0, score: 1, noul: 2 } as const

/** Logits move by less than this between two runs of a healthy engine, whatever its precision. */
const TOLERANCE = 0.05

/** Logits of the canary's questions: the known answer later runs are compared with. */
export type CanaryAnswer = Float32Array[]

/**
 * Asks one question of each type in one request, the whole way from text to logits.
 * @throws LayaError of the encoder or the engine; `inference_failed` when a number is not finite.
 */
export async function askCanary(engine: Engine, encoder: Encoder): Promise<CanaryAnswer> {
  const encoded = await encoder.encode(STATE, QUESTIONS, encoder.window)
  const rows = encoded.map(({ ids, markers, type }): PassRow => ({ ids, markers, type: TYPES[type] }))
  const answers: RowOutput[] = []
  for (const pass of planPasses(rows, engine.info.shape)) {
    const result = await engine.run(pass)
    for (const [at, row] of result.rows.entries()) answers[pass.index[at]!] = row
  }
  const logits = answers.map((row) => row.logits)
  if (!logits.every((row) => row.every(Number.isFinite)))
    throw new LayaError('inference_failed', 'The network gives numbers that are not finite.')
  return logits
}

/** Whether an engine still gives the answer it gave when it was opened. */
export function agrees(known: CanaryAnswer, found: CanaryAnswer): boolean {
  return (
    known.length === found.length &&
    known.every((row, at) =>
      row.every((logit, slot) => Math.abs(logit - (found[at]![slot] ?? Number.NaN)) <= TOLERANCE),
    )
  )
}
