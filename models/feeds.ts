import type { Architecture } from './config.ts'
import type { EmbeddingTable } from './embeddings.ts'
import type { Profile } from './graph/profile.ts'
import { type Pass, type Place, placeRows } from './pass.ts'

/** One input tensor of a graph, ready for onnxruntime; float16 values are bit patterns. */
export type Feed =
  | { type: 'float16'; dims: number[]; data: Uint16Array }
  | { type: 'float32'; dims: number[]; data: Float32Array }
  | { type: 'int64'; dims: number[]; data: BigInt64Array }

export type Feeds = Record<string, Feed>

/** Added to the score of a key that a query must not see. Finite: a fully masked row of -Infinity would be NaN. */
export const MASKED = -10000

/** MASKED as float16, exact. */
const MASKED_FLOAT16 = 0xf0e2

/** Rows, line by line, that a query at some position may see. */
interface Layout {
  pass: Pass
  places: Place[]
  lines: number
  /** Half window of the sliding layers. */
  halfWindow: number
}

/**
 * The inputs of one run of a profile's graph.
 * @throws LayaError `inference_failed` when the embedding table cannot be read.
 */
export function buildFeeds(
  pass: Pass,
  architecture: Architecture,
  profile: Profile,
  embeddings: EmbeddingTable,
): Feeds {
  const { places, lines } = placeRows(pass)
  const layout = { pass, places, lines, halfWindow: architecture.halfWindow }
  const { length, selected } = pass
  const fixed = profile.lengths === 'fixed'
  if (fixed && lines !== 1) throw new RangeError('A pass of a fixed-length graph has one line.')
  const masks = [lines, 1, length, length]
  const global = createMask(profile.body, lines * length * length)
  const local = createMask(profile.body, lines * length * length)
  fillMasks(layout, global, local)
  const selection = select(layout)
  const feeds: Feeds = {
    emb: embed(layout, embeddings, fixed),
    mask_global: { ...global, dims: masks },
    mask_local: { ...local, dims: masks },
    qtype_onehot: { type: 'float32', dims: [lines * length, 3], data: oneHotTypes(layout) },
    sel: {
      type: 'float32',
      dims: fixed ? [selected, length] : [lines, selected, length],
      data: selection.oneHot,
    },
    mask_sel: { type: 'float32', dims: [lines, 1, selected, length], data: selection.mask },
  }
  if (!fixed) feeds.position_ids = { type: 'int64', dims: [lines, length], data: positions(layout) }
  return feeds
}

/** Padding gets the real row of the pad token: a row of zeros has no variance, and 0/0 would poison real rows. */
function embed({ pass, places, lines }: Layout, table: EmbeddingTable, fixed: boolean): Feed {
  const { length } = pass
  const width = table.width
  const dims = fixed ? [length, width] : [lines, length, width]
  const size = lines * length * width
  const feed: Feed =
    table.type === 'float16'
      ? { type: 'float16', dims, data: new Uint16Array(size) }
      : { type: 'float32', dims, data: new Float32Array(size) }
  const ends = new Int32Array(lines)
  places.forEach(({ line, start }, at) => {
    const { ids } = pass.rows[at]!
    for (let i = 0; i < ids.length; i++) {
      table.copy(ids[i]!, feed.data, (line * length + start + i) * width)
    }
    ends[line] = start + ids.length
  })
  for (let line = 0; line < lines; line++) {
    for (let i = ends[line]!; i < length; i++) table.copy(table.pad, feed.data, (line * length + i) * width)
  }
  return feed
}

type Mask =
  | { type: 'float16'; data: Uint16Array; masked: number }
  | { type: 'float32'; data: Float32Array; masked: number }

function createMask(type: 'float16' | 'float32', size: number): Mask {
  return type === 'float16'
    ? { type, data: new Uint16Array(size), masked: MASKED_FLOAT16 }
    : { type, data: new Float32Array(size), masked: MASKED }
}

/** Both masks begin as zeros (visible); what a query must not see is filled. A padding query sees itself alone. */
function fillMasks({ pass, places, lines, halfWindow }: Layout, global: Mask, local: Mask): void {
  const { length, rows } = pass
  const ends = new Int32Array(lines)
  const hide = (mask: Mask, query: number, from: number, to: number) => {
    const base = query * length
    mask.data.fill(mask.masked, base, base + from)
    mask.data.fill(mask.masked, base + to, base + length)
  }
  places.forEach(({ line, start }, at) => {
    const end = start + rows[at]!.ids.length
    for (let i = start; i < end; i++) {
      hide(global, line * length + i, start, end)
      hide(local, line * length + i, Math.max(start, i - halfWindow), Math.min(end, i + halfWindow + 1))
    }
    ends[line] = end
  })
  for (let line = 0; line < lines; line++) {
    for (let i = ends[line]!; i < length; i++) {
      hide(global, line * length + i, i, i + 1)
      hide(local, line * length + i, i, i + 1)
    }
  }
}

/** Padding has no question type: its row stays zero. */
function oneHotTypes({ pass, places, lines }: Layout): Float32Array {
  const types = new Float32Array(lines * pass.length * 3)
  places.forEach(({ line, start }, at) => {
    const { ids, type } = pass.rows[at]!
    for (let i = 0; i < ids.length; i++) types[(line * pass.length + start + i) * 3 + type] = 1
  })
  return types
}

/** One-hot rows of the selected positions with what each may see; unused rows point at the line's first token. */
function select({ pass, places, lines }: Layout): { oneHot: Float32Array; mask: Float32Array } {
  const { length, selected, rows } = pass
  const oneHot = new Float32Array(lines * selected * length)
  const mask = new Float32Array(lines * selected * length)
  const used = new Int32Array(lines)
  const firstRowEnd = new Int32Array(lines)
  const point = (line: number, slot: number, position: number, start: number, end: number) => {
    const base = (line * selected + slot) * length
    oneHot[base + position] = 1
    mask.fill(MASKED, base, base + start)
    mask.fill(MASKED, base + end, base + length)
  }
  places.forEach(({ line, start, firstSelected }, at) => {
    const { ids, markers } = rows[at]!
    const end = start + ids.length
    for (let m = 0; m < markers.length; m++) {
      point(line, firstSelected + m, start + Math.max(0, markers[m]!), start, end)
    }
    point(line, firstSelected + markers.length, start, start, end)
    used[line] = firstSelected + markers.length + 1
    if (start === 0) firstRowEnd[line] = end
  })
  for (let line = 0; line < lines; line++) {
    for (let slot = used[line]!; slot < selected; slot++) point(line, slot, 0, 0, firstRowEnd[line]!)
  }
  return { oneHot, mask }
}

/** Counted from each row's start, so that a packed row gets the very angles it has alone. */
function positions({ pass, places, lines }: Layout): BigInt64Array {
  const ids = new BigInt64Array(lines * pass.length)
  places.forEach(({ line, start }, at) => {
    const { length } = pass.rows[at]!.ids
    for (let i = 0; i < length; i++) ids[line * pass.length + start + i] = BigInt(i)
  })
  return ids
}
