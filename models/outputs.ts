import type { ActHead } from './acthead.ts'
import { LayaError } from './errors.ts'
import { type Pass, placeRows, type RowOutput } from './pass.ts'

/** The outputs of one run of a graph. */
export interface GraphOutputs {
  /** [lines x selected, 1]. */
  logits: Float32Array
  /** [lines x selected, D]: the last hidden state at the selected positions. */
  selHidden: Float32Array
}

/**
 * Cuts the outputs of a run into its rows (in the order of `pass.rows`) and runs the act head.
 * @throws LayaError `inference_failed` when a row's numbers are not finite.
 */
export function readOutputs(pass: Pass, { logits, selHidden }: GraphOutputs, actHead: ActHead): RowOutput[] {
  const { places } = placeRows(pass)
  const width = selHidden.length / logits.length
  return pass.rows.map((row, at) => {
    const { line, firstSelected } = places[at]!
    const first = line * pass.selected + firstSelected
    const cls = first + row.markers.length
    const rowLogits = logits.slice(first, cls)
    const actLogits = actHead(selHidden.subarray(cls * width, (cls + 1) * width), rowLogits)
    if (!rowLogits.every(Number.isFinite) || !actLogits.every(Number.isFinite)) {
      throw new LayaError('inference_failed', 'The engine gave numbers that are not finite.', {
        hint: 'Check the engines again, or choose another one.',
      })
    }
    return { logits: rowLogits, actLogits }
  })
}
