import { LayaError } from './errors.ts'

/** What the network needs of one row: see `TokenRow`. */
export interface PassRow {
  ids: Int32Array
  markers: Int32Array
  /** choice 0, score 1, noul 2. */
  type: 0 | 1 | 2
}

/**
 * One run of a graph. Rows stand one behind the other in lines of `length` tokens; a row that does not fit into the
 * current line begins the next (`placeRows`). Fixed graphs have one line. `selected` is the number of positions of a
 * line that reach the scorer.
 */
export interface Pass {
  length: number
  selected: number
  rows: PassRow[]
  /** For each row of the pass its index in the caller's list. */
  index: number[]
}

/** S and P a graph was written for; `dynamic` graphs take what the rows need, up to `maxTokens` in one pass. */
export type PassShape =
  | { kind: 'fixed'; lengths: { length: number; selected: number }[] }
  | { kind: 'dynamic'; maxTokens: number }

/** Raw outputs of one row: one logit per marker (slot order) and the act logits. */
export interface RowOutput {
  logits: Float32Array
  actLogits: Float32Array
}

/** Where a row stands in its pass. */
export interface Place {
  line: number
  /** First token, counted inside the line. */
  start: number
  /** First of its selected positions, counted inside the line: its markers, then its [CLS]. */
  firstSelected: number
}

/** Selected positions of a row: its markers and its [CLS]. */
export function selectedPositions(row: PassRow): number {
  return row.markers.length + 1
}

/**
 * Where each row of a pass stands, and how many lines that takes.
 * @throws RangeError when a row is longer than a line: such a pass is never planned.
 */
export function placeRows({ length, selected, rows }: Pass): { places: Place[]; lines: number } {
  const places: Place[] = []
  let line = 0
  let start = 0
  let firstSelected = 0
  for (const row of rows) {
    const positions = selectedPositions(row)
    if (start + row.ids.length > length || firstSelected + positions > selected) {
      line++
      start = 0
      firstSelected = 0
    }
    if (row.ids.length > length || positions > selected || row.ids.length === 0) {
      throw new RangeError(`A row of ${row.ids.length} tokens does not fit a line of ${length}.`)
    }
    places.push({ line, start, firstSelected })
    start += row.ids.length
    firstSelected += positions
  }
  return { places, lines: line + 1 }
}

/**
 * Distributes rows over passes. Fixed graphs: the fewest passes, largest rows first, each at the smallest length that
 * holds it. Dynamic graphs: see `planDynamic`.
 * @throws LayaError `inference_failed` for a row that no loaded graph can hold.
 */
export function planPasses(rows: PassRow[], shape: PassShape): Pass[] {
  return shape.kind === 'fixed' ? planFixed(rows, shape.lengths) : planDynamic(rows, shape.maxTokens)
}

function planFixed(rows: PassRow[], lengths: { length: number; selected: number }[]): Pass[] {
  const ascending = lengths.toSorted((a, b) => a.length - b.length)
  const largest = ascending.at(-1)
  const bins: { index: number[]; tokens: number; positions: number }[] = []
  for (const index of byLength(rows)) {
    const row = rows[index]!
    const positions = selectedPositions(row)
    if (largest === undefined || row.ids.length > largest.length || positions > largest.selected) {
      throw tooLong(row, largest?.length ?? 0)
    }
    let bin = bins.find(
      (one) => one.tokens + row.ids.length <= largest.length && one.positions + positions <= largest.selected,
    )
    if (bin === undefined) {
      bin = { index: [], tokens: 0, positions: 0 }
      bins.push(bin)
    }
    bin.index.push(index)
    bin.tokens += row.ids.length
    bin.positions += positions
  }
  return bins.map((bin) => {
    const fitting = ascending.find((one) => bin.tokens <= one.length && bin.positions <= one.selected)!
    return { ...fitting, rows: bin.index.map((index) => rows[index]!), index: bin.index }
  })
}

function planDynamic(rows: PassRow[], maxTokens: number): Pass[] {
  const passes: Pass[] = []
  let group: number[] = []
  const close = () => {
    if (group.length === 0) return
    const members = group.map((index) => rows[index]!)
    passes.push({
      length: Math.max(...members.map((row) => row.ids.length)),
      selected: Math.max(...members.map(selectedPositions)),
      rows: members,
      index: group,
    })
    group = []
  }
  for (const index of byLength(rows)) {
    const row = rows[index]!
    if (row.ids.length > maxTokens) throw tooLong(row, maxTokens)
    const longest = rows[group[0] ?? index]!.ids.length
    if ((group.length + 1) * longest > maxTokens) close()
    group.push(index)
  }
  close()
  return passes
}

/** Indexes of the rows, longest row first; rows of one length keep their order. */
function byLength(rows: PassRow[]): number[] {
  return rows.map((_, index) => index).sort((a, b) => rows[b]!.ids.length - rows[a]!.ids.length)
}

function tooLong(row: PassRow, limit: number): LayaError {
  return new LayaError(
    'inference_failed',
    `A question of ${row.ids.length} tokens and ${row.markers.length} options is beyond the loaded graphs.`,
    { limit, actual: row.ids.length, hint: 'Use a shorter window or fewer options.' },
  )
}
