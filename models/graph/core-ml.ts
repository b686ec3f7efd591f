import type { Scope } from './lint.ts'
import type { Node } from './model.ts'

/** When onnxruntime's Core ML provider (MLProgram format) takes an operator. */
interface OperatorRule {
  /** Types of the first input beyond float32, float16 and int64. */
  firstTypes?: string[]
  /** Reasons to refuse the node, beyond the general ones. */
  check(node: Node, scope: Scope): string[]
}

const always: OperatorRule = { check: () => [] }

/** Inputs that must be initializers, by position. */
function constants(...positions: number[]): OperatorRule {
  return { check: (node, scope) => notConstant(node, scope, positions) }
}

function notConstant(node: Node, scope: Scope, positions: number[]): string[] {
  return positions
    .map((position) => node.inputs[position])
    .filter((name) => name !== undefined && name !== '' && scope.initializer(name) === undefined)
    .map((name) => `${name} is not an initializer.`)
}

const gemm: OperatorRule = {
  check(node, scope) {
    const [a, b, c] = node.inputs.map((name) => scope.known(name))
    const reasons = notConstant(node, scope, [1, 2])
    if (a?.dims.length !== 2) reasons.push('A must have rank 2.')
    if (attribute(node, 'transA', 0) !== 0) reasons.push('transA is set.')
    if (attribute(node, 'alpha', 1) !== 1 || attribute(node, 'beta', 1) !== 1)
      reasons.push('alpha or beta is not 1.')
    const width = b?.dims[attribute(node, 'transB', 0) === 1 ? 0 : 1]
    if (c !== undefined && ![`${width}`, `1,${width}`, '1', ''].includes(c.dims.join()))
      reasons.push(`C has the shape [${c.dims.join(', ')}].`)
    return reasons
  },
}

const matmul: OperatorRule = {
  check(node, scope) {
    const [a, b] = node.inputs.map((name) => scope.known(name)?.dims.length)
    return (a === 1) !== (b === 1) ? ['exactly one side has rank 1.'] : []
  },
}

const layerNorm: OperatorRule = {
  check(node, scope) {
    const reasons = notConstant(node, scope, [1, 2])
    if (node.outputs.length !== 1) reasons.push('only one output is possible.')
    if (attribute(node, 'stash_type', 1) !== 1) reasons.push('stash_type must be 1.')
    return reasons
  },
}

const gelu: OperatorRule = {
  check(node) {
    const form = node.attributes.approximate
    const known = form === undefined || (form.kind === 'text' && ['none', 'tanh'].includes(form.value))
    return known ? [] : ['approximate must be none or tanh.']
  },
}

const split: OperatorRule = {
  check(node, scope) {
    const reasons = notConstant(node, scope, [1])
    if (node.outputs.length < 2) reasons.push('at least two outputs are needed.')
    return reasons
  },
}

const concat: OperatorRule = {
  check: (node) => (node.inputs.length < 2 ? ['at least two inputs are needed.'] : []),
}

const softmax: OperatorRule = {
  check: (_node, { model }) => ((model.opsets[''] ?? 0) < 13 ? ['operator set 13 or later is needed.'] : []),
}

/**
 * The operators of the provider that a network like this can use, with their conditions as read in onnxruntime's
 * source (`coreml/builders/impl`). Reciprocal is left out: its Core ML form adds 1e-4.
 */
export const CORE_ML_OPERATORS: Readonly<Record<string, OperatorRule>> = {
  Add: always,
  Cast: { firstTypes: ['int32', 'bool'], check: () => [] },
  Clip: constants(1, 2),
  Concat: concat,
  Div: always,
  Erf: always,
  Exp: always,
  Gelu: gelu,
  Gemm: gemm,
  Identity: always,
  LayerNormalization: layerNorm,
  MatMul: matmul,
  Max: always,
  Mul: always,
  Pow: always,
  ReduceMax: constants(1),
  ReduceMean: constants(1),
  ReduceMin: constants(1),
  ReduceSum: constants(1),
  Relu: always,
  Reshape: constants(1),
  Sigmoid: always,
  Slice: constants(1, 2, 3, 4),
  Softmax: softmax,
  Split: split,
  Sqrt: always,
  Squeeze: constants(1),
  Sub: always,
  Tanh: always,
  Transpose: always,
  Unsqueeze: constants(1),
}

function attribute(node: Node, name: string, fallback: number): number {
  const found = node.attributes[name]
  return found?.kind === 'int' || found?.kind === 'float' ? found.value : fallback
}
