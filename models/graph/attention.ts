import type { Architecture } from '../config.ts'
import { toFloat16 } from '../float16.ts'
import { CONTRIB, float, type GraphBuilder } from './builder.ts'
import type { ElementType, Value } from './model.ts'
import type { Operators } from './operators.ts'
import { rotaryPositions } from './profile.ts'
import type { Layout } from './shape.ts'

/** What one attention block reads. */
export interface AttentionInputs {
  /** [rows of `queries`, D]. */
  q: Value
  /** [rows of `keys`, D]. */
  k: Value
  v: Value
  /** [lines, 1, queries, keys], added to the scores. */
  mask: Value
  heads: number
  /** Base of the rotary angles; null where the block has no positions. */
  theta: number | null
}

/** Scaled dot-product attention inside each line: softmax(q·kᵀ/√d + mask)·v with the heads joined. */
export type Attention = (name: string, inputs: AttentionInputs, queries: Layout, keys: Layout) => Value

/** Attention as onnxruntime's fused CPU operators, for any number and length of lines. */
export function createFusedAttention(
  graph: GraphBuilder,
  operators: Operators,
  architecture: Architecture,
  positions: Value,
): Attention {
  const { reshape, list } = operators

  function rotate(name: string, x: Value, theta: number, heads: number): Value {
    const half = architecture.hiddenSize / heads / 2
    const rows = rotaryPositions(architecture)
    const dims = [rows, half]
    const angles = rotaryAngles(rows, half, theta)
    const cos = graph.constant(
      `${rotaryName(theta)}_cos`,
      'float32',
      dims,
      Float32Array.from(angles, Math.cos),
    )
    const sin = graph.constant(
      `${rotaryName(theta)}_sin`,
      'float32',
      dims,
      Float32Array.from(angles, Math.sin),
    )
    return graph.node(
      'RotaryEmbedding',
      [x, positions, cos, sin],
      { ...x, name },
      { num_heads: heads, interleaved: 0 },
      CONTRIB,
    )
  }

  return (name, { q, k, v, mask, heads, theta }, queries, keys) => {
    const D = architecture.hiddenSize
    const lines = (x: Value, layout: Layout) =>
      reshape(`${x.name}_lines`, x, layout.shape, [layout.lines, layout.length, D])
    const [query, key] = [lines(q, queries), lines(k, keys)]
    const attended = graph.node(
      'MultiHeadAttention',
      [
        theta === null ? query : rotate(`${name}_q_rotated`, query, theta, heads),
        theta === null ? key : rotate(`${name}_k_rotated`, key, theta, heads),
        lines(v, keys),
        null,
        null,
        mask,
      ],
      { ...query, name: `${name}_heads` },
      { num_heads: heads, scale: float(1 / Math.sqrt(D / heads)) },
      CONTRIB,
    )
    return reshape(`${name}_joined`, attended, list([-1, D]), [queries.rows, D])
  }
}

/** Attention of plain operators that Core ML and WebGPU take node by node. One line of fixed length. */
export function createPlainAttention(
  graph: GraphBuilder,
  operators: Operators,
  architecture: Architecture,
): Attention {
  const { add, multiply, reshape, transpose, matmul, softmax, list } = operators

  /** x·cos + turned(x)·sin: the sign of the turned half is in the table, since Core ML has no Neg. */
  function rotate(name: string, x: Value, theta: number, factor: number): Value {
    const [, length, heads, width] = x.dims as [number, number, number, number]
    const half = width / 2
    const halves = graph.nodes(
      'Split',
      [x, list([half, half])],
      ['lower', 'upper'].map((label) => ({
        name: `${name}_${label}`,
        type: x.type,
        dims: [1, length, heads, half],
      })),
      { axis: -1 },
    )
    const turned = graph.node('Concat', halves.toReversed(), { ...x, name: `${name}_turned` }, { axis: -1 })
    const table = rotaryTables(graph, x.type, length, width, theta, factor)
    const straight = multiply(`${name}_cos`, x, table.cos)
    return add(`${name}_rotated`, straight, multiply(`${name}_sin`, turned, table.sin))
  }

  return (name, { q, k, v, mask, heads, theta }, queries, keys) => {
    const D = architecture.hiddenSize
    const width = D / heads
    const scale = 1 / Math.sqrt(width)
    const split = (x: Value, layout: Layout) => {
      const dims = [1, layout.length as number, heads, width]
      return reshape(`${x.name}_heads`, x, list(dims), dims)
    }
    let query = split(q, queries)
    let key = split(k, keys)
    if (theta === null) {
      const factor = graph.constant(`scale_${heads}`, 'float32', [1], Float32Array.of(scale))
      query = multiply(`${name}_q_scaled`, query, factor)
    } else {
      // The scale of the scores is in the query's tables: it costs nothing, and 1/8 is exact.
      query = rotate(`${name}_q`, query, theta, scale)
      key = rotate(`${name}_k`, key, theta, 1)
    }
    const scores = matmul(
      `${name}_scores`,
      transpose(`${name}_q_first`, query, [0, 2, 1, 3]),
      transpose(`${name}_k_columns`, key, [0, 2, 3, 1]),
    )
    const shares = softmax(`${name}_shares`, add(`${name}_masked`, scores, mask))
    const mixed = matmul(`${name}_mixed`, shares, transpose(`${name}_v_first`, split(v, keys), [0, 2, 1, 3]))
    const joined = transpose(`${name}_mixed_last`, mixed, [0, 2, 1, 3])
    return reshape(`${name}_joined`, joined, list([queries.rows as number, D]), [queries.rows, D])
  }
}

/** position · theta^(-2i/d) for i = 0 … d/2 - 1, row by row, in double. */
function rotaryAngles(positions: number, half: number, theta: number): Float64Array {
  const angles = new Float64Array(positions * half)
  for (let i = 0; i < half; i++) {
    const step = theta ** (-i / half)
    for (let position = 0; position < positions; position++) angles[position * half + i] = position * step
  }
  return angles
}

function rotaryName(theta: number): string {
  return `rotary_${String(theta).replace(/[^0-9]/g, '_')}`
}

/** cos and sign-carrying sin [1, S, 1, d] times a factor. Finished values are rounded, never the angles. */
function rotaryTables(
  graph: GraphBuilder,
  type: ElementType,
  length: number,
  width: number,
  theta: number,
  factor: number,
): { cos: Value; sin: Value } {
  const half = width / 2
  const angles = rotaryAngles(length, half, theta)
  const name = `${rotaryName(theta)}_${factor === 1 ? 'k' : 'q'}`
  const fill = (compute: (angle: number, second: boolean) => number) => {
    const table = type === 'float16' ? new Uint16Array(length * width) : new Float32Array(length * width)
    for (let at = 0; at < table.length; at++) {
      const position = Math.floor(at / width)
      const column = at % width
      const value = compute(angles[position * half + (column % half)] as number, column >= half) * factor
      table[at] = type === 'float16' ? toFloat16(value) : value
    }
    return table
  }
  const dims = [1, length, 1, width]
  return {
    cos: graph.constant(`${name}_cos`, type, dims, fill(Math.cos)),
    sin: graph.constant(
      `${name}_sin`,
      type,
      dims,
      fill((angle, second) => (second ? Math.sin(angle) : -Math.sin(angle))),
    ),
  }
}
