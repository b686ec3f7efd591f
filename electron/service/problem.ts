import { LayaError } from '../../models/errors.ts'
import type { Problem } from '../contract.ts'

/** What people are told of anything that was thrown. */
export function toProblem(error: unknown): Problem {
  if (!(error instanceof LayaError))
    return { code: 'internal_error', sentence: 'An unexpected fault; the log has the reason.' }
  const { hint } = error.details
  return { code: error.code, sentence: error.message, ...(hint !== undefined && { hint }) }
}

/** What the log keeps beside the sentence: the words of whoever failed first, or where a fault of ours lies. */
export function causeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return error.cause.message
  return error instanceof LayaError ? undefined : error.stack
}
