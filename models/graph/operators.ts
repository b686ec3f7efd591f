import { float, type GraphBuilder } from './builder.ts'
import { type Dim, ELEMENT_TYPES, type ElementType, type Value } from './model.ts'
import type { Profile } from './profile.ts'
import type { Rows, Weights } from './weights.ts'

/** The building blocks of the network as nodes. Every `name` becomes the name of the result. */
export interface Operators {
  /** The value itself when it already has the type. */
  cast(x: Value, type: ElementType): Value
  add(name: string, left: Value, right: Value): Value
  multiply(name: string, left: Value, right: Value): Value
  /** 0.5·x·(1 + erf(x/√2)), never the tanh form. */
  gelu(name: string, x: Value): Value
  relu(name: string, x: Value): Value
  softmax(name: string, x: Value): Value
  /** Over the last axis with biased variance; `<tensor>.weight`, and `<tensor>.bias` where the layer has one. */
  norm(name: string, x: Value, tensor: string, epsilon: number, biased: boolean): Value
  /** x·Wᵀ (+ b) for x [n, in] and W [out, in], or for some rows of W. */
  linear(name: string, x: Value, weight: string, bias?: string, rows?: Rows): Value
  /** Several equally wide linears that share x and one tensor: rows 0..size, size..2·size, … */
  linears(name: string, x: Value, weight: string, size: number, labels: string[], bias?: string): Value[]
  /** Rows of a small table [n, D] chosen by one-hot rows [tokens, n]. */
  embed(name: string, oneHot: Value, table: string): Value
  reshape(name: string, x: Value, target: Value, dims: Dim[]): Value
  transpose(name: string, x: Value, axes: number[]): Value
  matmul(name: string, left: Value, right: Value): Value
  /** An int64 list, shared by all nodes that need the same one. */
  list(values: number[]): Value
}

export function createOperators(graph: GraphBuilder, weights: Weights, profile: Profile): Operators {
  const operators: Operators = {
    cast(x, type) {
      if (x.type === type) return x
      const short = type === 'float32' ? 'f32' : 'f16'
      return graph.node('Cast', [x], { ...x, name: `${x.name}_${short}`, type }, { to: ELEMENT_TYPES[type] })
    },
    add(name, left, right) {
      return graph.node('Add', [left, right], { ...left, name })
    },
    multiply(name, left, right) {
      return graph.node('Mul', [left, right], { ...left, name })
    },
    gelu(name, x) {
      return graph.node('Gelu', [x], { ...x, name }, { approximate: 'none' })
    },
    relu(name, x) {
      return graph.node('Relu', [x], { ...x, name })
    },
    softmax(name, x) {
      return graph.node('Softmax', [x], { ...x, name }, { axis: -1 })
    },
    norm(name, x, tensor, epsilon, biased) {
      const scale = weights.read(`${tensor}.weight`, 'float32')
      const inputs = biased ? [x, scale, weights.read(`${tensor}.bias`, 'float32')] : [x, scale]
      // Core ML reads a missing axis as 1.
      return graph.node('LayerNormalization', inputs, { ...x, name }, { axis: -1, epsilon: float(epsilon) })
    },
    linear(name, x, weight, bias, rows) {
      const type = x.type === 'float16' ? 'float16' : 'float32'
      const matrix = weights.read(weight, type, rows)
      const inputs = [x, matrix, ...(bias === undefined ? [] : [weights.read(bias, type, rows)])]
      // transB keeps PyTorch's [out, in]: no transposed copy of the weight, at load or on disk.
      const dims = [x.dims[0] as Dim, matrix.dims[0] as Dim]
      return graph.node('Gemm', inputs, { name, type, dims }, { transB: 1 })
    },
    linears(name, x, weight, size, labels, bias) {
      return labels.map((label, block) => {
        const rows = { from: block * size, to: (block + 1) * size }
        return operators.linear(`${name}_${label}`, x, weight, bias, rows)
      })
    },
    embed(name, oneHot, table) {
      // Core ML takes a Gemm with transB=1 only, so fixed graphs keep the small table transposed beside the weights.
      const turned = profile.lengths === 'fixed'
      const matrix = turned ? weights.readTransposed(table) : weights.read(table, 'float32')
      const dims = [oneHot.dims[0] as Dim, matrix.dims[turned ? 0 : 1] as Dim]
      return graph.node('Gemm', [oneHot, matrix], { name, type: 'float32', dims }, { transB: turned ? 1 : 0 })
    },
    reshape(name, x, target, dims) {
      return graph.node('Reshape', [x, target], { name, type: x.type, dims })
    },
    transpose(name, x, axes) {
      const dims = axes.map((axis) => x.dims[axis] as Dim)
      return graph.node('Transpose', [x], { name, type: x.type, dims }, { perm: axes })
    },
    matmul(name, left, right) {
      const dims = [...left.dims.slice(0, -1), right.dims[right.dims.length - 1] as Dim]
      return graph.node('MatMul', [left, right], { name, type: left.type, dims })
    },
    list(values) {
      const name = `list_${values.join('_').replace(/-/g, 'minus')}`
      return graph.constant(name, 'int64', [values.length], BigInt64Array.from(values, BigInt))
    },
  }
  return operators
}
