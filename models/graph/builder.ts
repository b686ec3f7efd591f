import {
  type Attribute,
  type Dim,
  ELEMENT_BYTES,
  type ElementType,
  type External,
  type Graph,
  type Node,
  type Tensor,
  type Value,
} from './model.ts'

/** Contrib operators of onnxruntime. */
export const CONTRIB = 'com.microsoft'

/** Type and shape of one output of a node. The name becomes the node's name too. */
export interface Result {
  name: string
  type: ElementType
  dims: Dim[]
}

/** Assembles a graph node by node and keeps type and shape of every value, so that all of them can be declared. */
export interface GraphBuilder {
  input(name: string, type: ElementType, dims: Dim[]): Value
  /** An initializer inside the file. A second call with the same name returns the first. */
  constant(name: string, type: ElementType, dims: number[], data: ArrayBufferView): Value
  /** An initializer that is a byte range of another file. A second call with the same name returns the first. */
  external(name: string, type: ElementType, dims: number[], range: External): Value
  node(op: string, inputs: (Value | null)[], result: Result, attributes?: Attributes, domain?: string): Value
  /** A node with several outputs. */
  nodes(op: string, inputs: (Value | null)[], results: Result[], attributes?: Attributes): Value[]
  output(value: Value): void
  finish(name: string): Graph
}

/** Numbers are written as int; wrap a float in `float()`. */
export type Attributes = Record<string, number | number[] | string | Attribute>

export function float(value: number): Attribute {
  return { kind: 'float', value }
}

export function createGraph(): GraphBuilder {
  const nodes: Node[] = []
  const inputs: Value[] = []
  const outputs: Value[] = []
  const values: Value[] = []
  const initializers = new Map<string, Tensor>()
  const names = new Set<string>()

  function initializer(name: string, type: ElementType, dims: number[], data: Uint8Array | External): Value {
    if (!initializers.has(name)) initializers.set(name, { name, type, dims, data })
    return { name, type, dims }
  }

  function declare(results: Result[]): void {
    for (const result of results) {
      if (names.has(result.name)) throw new Error(`Two nodes are called ${result.name}.`)
      names.add(result.name)
      values.push(result)
    }
  }

  const builder: GraphBuilder = {
    input(name, type, dims) {
      const value = { name, type, dims }
      inputs.push(value)
      return value
    },
    constant(name, type, dims, data) {
      const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      const expected = dims.reduce((product, dim) => product * dim, ELEMENT_BYTES[type])
      if (bytes.length !== expected) throw new RangeError(`${name}: ${bytes.length} bytes, not ${expected}`)
      return initializer(name, type, dims, bytes)
    },
    external(name, type, dims, range) {
      return initializer(name, type, dims, range)
    },
    node(op, nodeInputs, result, attributes = {}, domain = '') {
      nodes.push(createNode(op, nodeInputs, [result], attributes, domain))
      declare([result])
      return result
    },
    nodes(op, nodeInputs, results, attributes = {}) {
      nodes.push(createNode(op, nodeInputs, results, attributes, ''))
      declare(results)
      return results
    },
    output(value) {
      outputs.push(value)
    },
    finish(name) {
      const declared = new Set(outputs.map((value) => value.name))
      const used = new Set(nodes.flatMap((node) => node.inputs))
      return {
        name,
        nodes,
        inputs,
        outputs,
        values: values.filter((value) => !declared.has(value.name)),
        initializers: [...initializers.values()].filter((tensor) => used.has(tensor.name)),
      }
    },
  }
  return builder
}

function createNode(
  op: string,
  inputs: (Value | null)[],
  results: Result[],
  attributes: Attributes,
  domain: string,
): Node {
  const written: Record<string, Attribute> = {}
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'number') written[name] = { kind: 'int', value }
    else if (typeof value === 'string') written[name] = { kind: 'text', value }
    else if (Array.isArray(value)) written[name] = { kind: 'ints', value }
    else written[name] = value
  }
  return {
    name: results[0]?.name ?? op,
    op,
    domain,
    inputs: inputs.map((input) => input?.name ?? ''),
    outputs: results.map((result) => result.name),
    attributes: written,
  }
}
