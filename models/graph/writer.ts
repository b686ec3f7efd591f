import {
  type Attribute,
  ELEMENT_TYPES,
  type Graph,
  type Model,
  type Node,
  type Tensor,
  type Value,
} from './model.ts'

const VARINT = 0
const BYTES = 2
const FIXED32 = 5

/** AttributeProto.AttributeType. */
const ATTRIBUTE_TYPES = { float: 1, int: 2, text: 3, ints: 7 } as const

/** TensorProto.DataLocation. */
const EXTERNAL = 1

const utf8 = new TextEncoder()

/** Encodes an ONNX `ModelProto`. Field numbers are those of onnx.proto (IR 9). */
export function encodeModel(model: Model): Uint8Array {
  return message((out) => {
    out.int(1, model.irVersion)
    out.text(2, 'laya-bar')
    out.bytes(7, encodeGraph(model.graph))
    for (const [domain, version] of Object.entries(model.opsets)) {
      out.bytes(
        8,
        message((opset) => {
          opset.text(1, domain)
          opset.int(2, version)
        }),
      )
    }
    for (const [key, value] of Object.entries(model.metadata)) out.bytes(14, encodeEntry(key, value))
  })
}

function encodeGraph(graph: Graph): Uint8Array {
  return message((out) => {
    for (const node of graph.nodes) out.bytes(1, encodeNode(node))
    out.text(2, graph.name)
    for (const tensor of graph.initializers) out.bytes(5, encodeTensor(tensor))
    for (const value of graph.inputs) out.bytes(11, encodeValue(value))
    for (const value of graph.outputs) out.bytes(12, encodeValue(value))
    for (const value of graph.values) out.bytes(13, encodeValue(value))
  })
}

function encodeNode(node: Node): Uint8Array {
  return message((out) => {
    for (const input of node.inputs) out.text(1, input)
    for (const output of node.outputs) out.text(2, output)
    out.text(3, node.name)
    out.text(4, node.op)
    for (const [name, attribute] of Object.entries(node.attributes)) {
      out.bytes(5, encodeAttribute(name, attribute))
    }
    if (node.domain !== '') out.text(7, node.domain)
  })
}

function encodeAttribute(name: string, attribute: Attribute): Uint8Array {
  return message((out) => {
    out.text(1, name)
    if (attribute.kind === 'float') out.float(2, attribute.value)
    if (attribute.kind === 'int') out.int(3, attribute.value)
    if (attribute.kind === 'text') out.text(4, attribute.value)
    if (attribute.kind === 'ints') for (const value of attribute.value) out.int(8, value)
    out.int(20, ATTRIBUTE_TYPES[attribute.kind])
  })
}

function encodeTensor(tensor: Tensor): Uint8Array {
  return message((out) => {
    for (const dim of tensor.dims) out.int(1, dim)
    out.int(2, ELEMENT_TYPES[tensor.type])
    out.text(8, tensor.name)
    if (tensor.data instanceof Uint8Array) {
      out.bytes(9, tensor.data)
      return
    }
    out.bytes(13, encodeEntry('location', tensor.data.location))
    out.bytes(13, encodeEntry('offset', String(tensor.data.offset)))
    out.bytes(13, encodeEntry('length', String(tensor.data.bytes)))
    out.int(14, EXTERNAL)
  })
}

function encodeValue(value: Value): Uint8Array {
  const shape = message((out) => {
    for (const dim of value.dims) {
      out.bytes(
        1,
        message((one) => {
          if (typeof dim === 'number') one.int(1, dim)
          else one.text(2, dim)
        }),
      )
    }
  })
  const tensor = message((out) => {
    out.int(1, ELEMENT_TYPES[value.type])
    out.bytes(2, shape)
  })
  return message((out) => {
    out.text(1, value.name)
    out.bytes(
      2,
      message((type) => type.bytes(1, tensor)),
    )
  })
}

function encodeEntry(key: string, value: string): Uint8Array {
  return message((out) => {
    out.text(1, key)
    out.text(2, value)
  })
}

interface Fields {
  int(field: number, value: number): void
  float(field: number, value: number): void
  text(field: number, value: string): void
  bytes(field: number, value: Uint8Array): void
}

function message(fill: (out: Fields) => void): Uint8Array {
  let buffer = new Uint8Array(64)
  let end = 0
  const reserve = (bytes: number) => {
    if (end + bytes <= buffer.length) return
    const larger = new Uint8Array(Math.max(buffer.length * 2, end + bytes))
    larger.set(buffer.subarray(0, end))
    buffer = larger
  }
  const varint = (value: number) => {
    reserve(10)
    // A negative int64 is its 64-bit two's complement: ten bytes.
    let rest = BigInt.asUintN(64, BigInt(value))
    while (rest > 127n) {
      buffer[end++] = Number(rest & 127n) | 128
      rest >>= 7n
    }
    buffer[end++] = Number(rest)
  }
  const out: Fields = {
    int(field, value) {
      varint(field * 8 + VARINT)
      varint(value)
    },
    float(field, value) {
      varint(field * 8 + FIXED32)
      reserve(4)
      new DataView(buffer.buffer).setFloat32(end, value, true)
      end += 4
    },
    text(field, value) {
      out.bytes(field, utf8.encode(value))
    },
    bytes(field, value) {
      varint(field * 8 + BYTES)
      varint(value.length)
      reserve(value.length)
      buffer.set(value, end)
      end += value.length
    },
  }
  fill(out)
  return buffer.subarray(0, end)
}
