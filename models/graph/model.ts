/** An ONNX model as plain values: what the writer encodes, the reader decodes and the lint judges. */
export interface Model {
  irVersion: number
  /** Operator set version by domain; '' is the standard domain. */
  opsets: Record<string, number>
  graph: Graph
  metadata: Record<string, string>
}

export interface Graph {
  name: string
  nodes: Node[]
  inputs: Value[]
  outputs: Value[]
  /** Types and shapes of the intermediates. */
  values: Value[]
  initializers: Tensor[]
}

export interface Node {
  name: string
  op: string
  /** '' is the standard domain. */
  domain: string
  /** '' stands for an absent optional input. */
  inputs: string[]
  outputs: string[]
  attributes: Record<string, Attribute>
}

export type Attribute =
  | { kind: 'float'; value: number }
  | { kind: 'int'; value: number }
  | { kind: 'text'; value: string }
  | { kind: 'ints'; value: number[] }

/** A number, or the name of a dimension that is known at run time only. */
export type Dim = number | string

export interface Value {
  name: string
  type: ElementType
  dims: Dim[]
}

export interface Tensor {
  name: string
  type: ElementType
  dims: number[]
  data: Uint8Array | External
}

/** A byte range of a file in the folder of the model. */
export interface External {
  location: string
  offset: number
  bytes: number
}

/** TensorProto.DataType. */
export const ELEMENT_TYPES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  bfloat16: 16,
} as const

export type ElementType = keyof typeof ELEMENT_TYPES

/** Bytes of one element. */
export const ELEMENT_BYTES: Record<ElementType, number> = {
  float32: 4,
  uint8: 1,
  int8: 1,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
  bfloat16: 2,
}
