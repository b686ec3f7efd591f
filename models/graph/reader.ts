import {
  type Attribute,
  type Dim,
  ELEMENT_BYTES,
  ELEMENT_TYPES,
  type ElementType,
  type Graph,
  type Model,
  type Node,
  type Tensor,
  type Value,
} from './model.ts'

const utf8 = new TextDecoder()

/**
 * Decodes an ONNX `ModelProto`: the fields this program writes, and those onnxruntime writes when it saves an
 * optimised model. Throws on truncated bytes and on anything it would have to ignore silently.
 */
export function decodeModel(bytes: Uint8Array): Model {
  const fields = readFields(bytes)
  const graph = fields.find((field) => field.number === 7)
  if (graph === undefined) throw new Error('The ONNX file holds no graph.')
  const opsets: Record<string, number> = {}
  for (const field of fields.filter((one) => one.number === 8)) {
    const parts = readFields(field.bytes)
    opsets[text(parts, 1)] = int(parts, 2)
  }
  const metadata: Record<string, string> = {}
  for (const field of fields.filter((one) => one.number === 14)) {
    const parts = readFields(field.bytes)
    metadata[text(parts, 1)] = text(parts, 2)
  }
  return { irVersion: int(fields, 1), opsets, graph: readGraph(graph.bytes), metadata }
}

function readGraph(bytes: Uint8Array): Graph {
  const graph: Graph = { name: '', nodes: [], inputs: [], outputs: [], values: [], initializers: [] }
  for (const field of readFields(bytes)) {
    if (field.number === 1) graph.nodes.push(readNode(field.bytes))
    if (field.number === 2) graph.name = utf8.decode(field.bytes)
    if (field.number === 5) graph.initializers.push(readTensor(field.bytes))
    if (field.number === 11) graph.inputs.push(readValue(field.bytes))
    if (field.number === 12) graph.outputs.push(readValue(field.bytes))
    if (field.number === 13) graph.values.push(readValue(field.bytes))
  }
  return graph
}

function readNode(bytes: Uint8Array): Node {
  const fields = readFields(bytes)
  const attributes: Record<string, Attribute> = {}
  for (const field of fields.filter((one) => one.number === 5)) {
    const parts = readFields(field.bytes)
    attributes[text(parts, 1)] = readAttribute(parts)
  }
  return {
    name: text(fields, 3),
    op: text(fields, 4),
    domain: text(fields, 7),
    inputs: fields.filter((field) => field.number === 1).map((field) => utf8.decode(field.bytes)),
    outputs: fields.filter((field) => field.number === 2).map((field) => utf8.decode(field.bytes)),
    attributes,
  }
}

function readAttribute(fields: Field[]): Attribute {
  const kind = int(fields, 20)
  if (kind === 1) {
    const bits = new DataView(new ArrayBuffer(4))
    bits.setUint32(0, int(fields, 2))
    return { kind: 'float', value: bits.getFloat32(0) }
  }
  if (kind === 2) return { kind: 'int', value: int(fields, 3) }
  if (kind === 3) return { kind: 'text', value: text(fields, 4) }
  if (kind === 7) return { kind: 'ints', value: ints(fields, 8) }
  throw new Error(`The ONNX attribute ${text(fields, 1)} has a type (${kind}) that no operator here uses.`)
}

function readTensor(bytes: Uint8Array): Tensor {
  const fields = readFields(bytes)
  const name = text(fields, 8)
  const type = elementType(int(fields, 2))
  const dims = ints(fields, 1)
  const entries: Record<string, string> = {}
  for (const field of fields.filter((one) => one.number === 13)) {
    const parts = readFields(field.bytes)
    entries[text(parts, 1)] = text(parts, 2)
  }
  if (entries.location !== undefined) {
    return {
      name,
      type,
      dims,
      data: {
        location: entries.location,
        offset: Number(entries.offset ?? 0),
        bytes: Number(entries.length),
      },
    }
  }
  const raw = fields.find((field) => field.number === 9)
  const size = dims.reduce((product, dim) => product * dim, 1) * ELEMENT_BYTES[type]
  if (raw?.bytes.length !== size) {
    throw new Error(`The ONNX initializer ${name} should hold ${size} raw bytes.`)
  }
  return { name, type, dims, data: raw.bytes }
}

function readValue(bytes: Uint8Array): Value {
  const fields = readFields(bytes)
  const type = readFields(fields.find((field) => field.number === 2)?.bytes ?? new Uint8Array())
  const tensor = readFields(type.find((field) => field.number === 1)?.bytes ?? new Uint8Array())
  const shape = readFields(tensor.find((field) => field.number === 2)?.bytes ?? new Uint8Array())
  const dims = shape.map((field): Dim => {
    const parts = readFields(field.bytes)
    return parts.some((part) => part.number === 1) ? int(parts, 1) : text(parts, 2)
  })
  return { name: text(fields, 1), type: elementType(int(tensor, 1)), dims }
}

function elementType(code: number): ElementType {
  for (const [type, known] of Object.entries(ELEMENT_TYPES)) {
    if (known === code) return type as ElementType
  }
  throw new Error(`The ONNX element type ${code} is not one this program uses.`)
}

interface Field {
  number: number
  /** Varint and fixed32 fields. */
  value: number
  /** Length-delimited fields. */
  bytes: Uint8Array
}

function text(fields: Field[], number: number): string {
  return utf8.decode(fields.find((field) => field.number === number)?.bytes ?? new Uint8Array())
}

function int(fields: Field[], number: number): number {
  return fields.find((field) => field.number === number)?.value ?? 0
}

/** A repeated int64: one field each, or all packed into one (onnxruntime packs). */
function ints(fields: Field[], number: number): number[] {
  return fields
    .filter((field) => field.number === number)
    .flatMap((field) => {
      if (field.bytes.length === 0) return [field.value]
      const values: number[] = []
      for (let at = 0; at < field.bytes.length; ) {
        const [value, next] = readVarint(field.bytes, at)
        values.push(value)
        at = next
      }
      return values
    })
}

function readFields(bytes: Uint8Array): Field[] {
  const fields: Field[] = []
  const nothing = new Uint8Array()
  for (let at = 0; at < bytes.length; ) {
    const [key, start] = readVarint(bytes, at)
    const number = Math.floor(key / 8)
    const wire = key % 8
    if (wire === 0) {
      const [value, next] = readVarint(bytes, start)
      fields.push({ number, value, bytes: nothing })
      at = next
    } else if (wire === 2) {
      const [length, data] = readVarint(bytes, start)
      if (data + length > bytes.length) throw new Error('The ONNX file is cut off inside a field.')
      fields.push({ number, value: 0, bytes: bytes.subarray(data, data + length) })
      at = data + length
    } else if (wire === 5 || wire === 1) {
      const size = wire === 5 ? 4 : 8
      if (start + size > bytes.length) throw new Error('The ONNX file is cut off inside a field.')
      const view = new DataView(bytes.buffer, bytes.byteOffset + start, size)
      fields.push({
        number,
        value: wire === 5 ? view.getUint32(0, true) : view.getFloat64(0, true),
        bytes: nothing,
      })
      at = start + size
    } else {
      throw new Error(`The ONNX file holds a field of the unknown wire type ${wire}.`)
    }
  }
  return fields
}

function readVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0n
  for (let at = start, shift = 0n; shift < 70n; at++, shift += 7n) {
    const byte = bytes[at]
    if (byte === undefined) throw new Error('The ONNX file is cut off inside a number.')
    value |= BigInt(byte & 127) << shift
    if (byte < 128) return [Number(BigInt.asIntN(64, value)), at + 1]
  }
  throw new Error('The ONNX file holds a number of more than ten bytes.')
}
