import type { PassRow } from '../../models/pass.ts'
import type { QuestionType } from '../../models/question.ts'
import type { TokenRow } from '../../models/sequence.ts'

/** Number of a question type in the network: choice 0, score 1, noul 2. */
export const typeCode = (type: QuestionType): PassRow['type'] =>
  type === 'choice' ? 0 : type === 'score' ? 1 : 2

export const toPassRow = ({ ids, markers, type }: TokenRow): PassRow => ({
  ids,
  markers,
  type: typeCode(type),
})
