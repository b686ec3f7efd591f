import type { Dim, Value } from './model.ts'
import { FIXED_SHAPES, type Profile } from './profile.ts'

/**
 * Dimensions of one run: `lines` lines of `length` tokens, of which `selected` each reach the scorer. Attention stays
 * inside a line. Fixed graphs have one line.
 */
export interface GraphShape {
  lines: Dim
  length: Dim
  selected: Dim
  /** lines x length. */
  tokens: Dim
  /** lines x selected. */
  picked: Dim
}

/** Rows [rows, D] that stand for [lines, length, D]. */
export interface Layout {
  lines: Dim
  length: Dim
  rows: Dim
  /** int64 [3] = lines, length, D: what a Reshape back into lines needs. */
  shape: Value
}

/** @throws RangeError for a length that the profile does not have. */
export function graphShape(profile: Profile, length?: number): GraphShape {
  if (profile.lengths === 'dynamic') {
    if (length !== undefined) throw new RangeError(`The profile ${profile.name} has no fixed lengths.`)
    return { lines: 'lines', length: 'length', selected: 'selected', tokens: 'tokens', picked: 'picked' }
  }
  const fixed = FIXED_SHAPES.find((shape) => shape.length === length)
  if (fixed === undefined) throw new RangeError(`The profile ${profile.name} has no length ${length}.`)
  return {
    lines: 1,
    length: fixed.length,
    selected: fixed.selected,
    tokens: fixed.length,
    picked: fixed.selected,
  }
}
