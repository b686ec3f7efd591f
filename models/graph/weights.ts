import { LayaError } from '../errors.ts'
import { bytesPerElement, type SafetensorsHeader, type Tensor } from '../safetensors.ts'
import type { GraphBuilder } from './builder.ts'
import { ELEMENT_BYTES, ELEMENT_TYPES, type ElementType, type Value } from './model.ts'
import { type Profile, sideFileName, WEIGHTS_FILE } from './profile.ts'

/** Rows of a tensor's first axis. */
export interface Rows {
  from: number
  to: number
}

/** One converted weight of the side file: rows of a tensor in another number format. */
export interface SideEntry {
  tensor: string
  rows: Rows
  form: 'float32' | 'float16' | 'float32-transposed'
  /** Bytes from the start of the side file. */
  offset: number
  bytes: number
}

/** Finds the weights of a graph: in `model.safetensors` itself where the format fits, else in the side file. */
export interface Weights {
  /** A whole tensor, or some of its rows, as a constant of the given type. */
  read(tensor: string, type: 'float32' | 'float16', rows?: Rows): Value
  /** A small matrix [n, m] as [m, n] in float32. */
  readTransposed(tensor: string): Value
  /** What the side file must hold for the graph written so far, in file order. */
  sideEntries(): SideEntry[]
}

const FILE_TYPES: Record<Tensor['dtype'], ElementType> = { F16: 'float16', F32: 'float32', BF16: 'bfloat16' }

/** Side file entries begin at multiples of this: the width of the widest vector load. */
const ALIGNMENT = 64

export function createWeights(graph: GraphBuilder, header: SafetensorsHeader, profile: Profile): Weights {
  const entries = new Map<string, SideEntry>()
  let end = 0

  function placeBeside(
    label: string,
    type: ElementType,
    dims: number[],
    entry: Omit<SideEntry, 'offset' | 'bytes'>,
  ) {
    let placed = entries.get(label)
    if (placed === undefined) {
      placed = { ...entry, offset: end, bytes: product(dims) * ELEMENT_BYTES[type] }
      entries.set(label, placed)
      end = Math.ceil((end + placed.bytes) / ALIGNMENT) * ALIGNMENT
    }
    const { offset, bytes } = placed
    return graph.external(label, type, dims, { location: sideFileName(profile), offset, bytes })
  }

  return {
    read(name, type, rows) {
      const tensor = findTensor(header, name)
      const range = rows ?? { from: 0, to: tensor.shape[0] ?? 1 }
      const dims = [range.to - range.from, ...tensor.shape.slice(1)]
      const fileType = FILE_TYPES[tensor.dtype]
      const label = weightName(name, rows)
      if (fileType !== type && profile.conversion === 'side') {
        return placeBeside(label, type, dims, { tensor: name, rows: range, form: type })
      }
      const rowBytes = product(tensor.shape.slice(1)) * bytesPerElement[tensor.dtype]
      const stored = graph.external(label, fileType, dims, {
        location: WEIGHTS_FILE,
        offset: tensor.offset + range.from * rowBytes,
        bytes: dims[0]! * rowBytes,
      })
      if (fileType === type) return stored
      return graph.node('Cast', [stored], { name: `${label}_cast`, type, dims }, { to: ELEMENT_TYPES[type] })
    },
    readTransposed(name) {
      const { shape } = findTensor(header, name)
      const [rows, columns] = shape as [number, number]
      const entry = { tensor: name, rows: { from: 0, to: rows }, form: 'float32-transposed' } as const
      return placeBeside(`${weightName(name)}_turned`, 'float32', [columns, rows], entry)
    },
    sideEntries: () => [...entries.values()],
  }
}

/** Names of initializers: Core ML rewrites anything but letters, digits and underscores. */
function weightName(tensor: string, rows?: Rows): string {
  const name = tensor.replace(/[^A-Za-z0-9_]/g, '_')
  return rows === undefined ? name : `${name}_${rows.from}_${rows.to}`
}

function findTensor(header: SafetensorsHeader, name: string): Tensor {
  const tensor = header.tensors.get(name)
  if (tensor === undefined) {
    throw new LayaError('checkpoint_unusable', `model.safetensors: tensor '${name}' is missing`, {
      hint: 'Download or copy the file again.',
    })
  }
  return tensor
}

function product(dims: number[]): number {
  return dims.reduce((result, dim) => result * dim, 1)
}
