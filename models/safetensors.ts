import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { excerpt, LayaError } from './errors.ts'
import { widenBfloat16, widenFloat16 } from './float16.ts'
import { type Json, JsonNumber, parseJson } from './json.ts'

export type TensorType = 'F16' | 'BF16' | 'F32'

/** One tensor of a safetensors file: row-major, little-endian. */
export interface Tensor {
  name: string
  dtype: TensorType
  shape: number[]
  /** Bytes from the start of the file. */
  offset: number
  /** Length in bytes. */
  bytes: number
}

export interface SafetensorsHeader {
  path: string
  /** Size of the whole file in bytes. */
  fileBytes: number
  /** By name, in the order of the header. */
  tensors: Map<string, Tensor>
}

export const bytesPerElement: Record<TensorType, number> = { F16: 2, BF16: 2, F32: 4 }

const maxHeaderBytes = 100_000_000

/**
 * Reads and checks the table of tensors; the data stay on disk.
 * @throws LayaError `checkpoint_unusable` naming file and tensor: truncated or oversized header, ranges outside the
 * file, overlaps, a length that does not fit the shape, repeated names, other types than F16, BF16 and F32.
 */
export function readHeader(path: string): SafetensorsHeader {
  const file = basename(path)
  const { text, fileBytes, dataStart } = readHeaderText(path)
  let table: Json
  try {
    table = parseJson(text, { maxDepth: 4, subject: 'the header', uniqueNames: true })
  } catch (error) {
    throw unusable(file, error instanceof Error ? error.message : String(error), error)
  }
  if (!(table instanceof Map)) throw unusable(file, 'the header is not a JSON object')
  const tensors = new Map<string, Tensor>()
  for (const [name, entry] of table) {
    if (name !== '__metadata__') tensors.set(name, readEntry(file, name, entry, dataStart, fileBytes))
  }
  refuseOverlaps(file, tensors)
  return { path, fileBytes, tensors }
}

function readHeaderText(path: string): { text: string; fileBytes: number; dataStart: number } {
  const file = basename(path)
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    throw unusable(file, 'the file cannot be opened', error)
  }
  try {
    const fileBytes = fstatSync(descriptor).size
    if (fileBytes < 10) throw unusable(file, `${fileBytes} bytes are too few for a header`)
    const prefix = Buffer.alloc(8)
    readSync(descriptor, prefix, 0, 8, 0)
    const length = prefix.readBigUInt64LE()
    if (length > BigInt(maxHeaderBytes)) throw unusable(file, `a header of ${length} bytes is above 100 MB`)
    const headerBytes = Number(length)
    if (headerBytes > fileBytes - 8) {
      throw unusable(file, `the header should have ${headerBytes} bytes, but only ${fileBytes - 8} follow`)
    }
    const bytes = Buffer.alloc(headerBytes)
    readSync(descriptor, bytes, 0, headerBytes, 8)
    return {
      text: new TextDecoder('utf-8', { fatal: true }).decode(bytes),
      fileBytes,
      dataStart: 8 + headerBytes,
    }
  } catch (error) {
    if (error instanceof TypeError) throw unusable(file, 'the header is not UTF-8', error)
    throw error
  } finally {
    closeSync(descriptor)
  }
}

function readEntry(file: string, name: string, entry: Json, dataStart: number, fileBytes: number): Tensor {
  const field = `tensor '${excerpt(name)}'`
  if (!(entry instanceof Map)) throw unusable(file, `${field} is not described by an object`)
  const dtype = entry.get('dtype')
  if (dtype !== 'F16' && dtype !== 'BF16' && dtype !== 'F32') {
    const found = typeof dtype === 'string' ? `'${excerpt(dtype)}'` : 'missing'
    throw unusable(file, `${field}: dtype is ${found}; F16, BF16 and F32 can be read`)
  }
  const shape = counts(entry.get('shape'))
  const range = counts(entry.get('data_offsets'))
  if (shape === null) throw unusable(file, `${field}: shape is not a list of sizes`)
  if (range === null || range.length !== 2 || range[0]! > range[1]!) {
    throw unusable(file, `${field}: data_offsets is not a range`)
  }
  const offset = dataStart + range[0]!
  const bytes = range[1]! - range[0]!
  if (offset + bytes > fileBytes) {
    throw unusable(file, `${field} ends at byte ${offset + bytes}, but the file has ${fileBytes}`)
  }
  const expected = shape.reduce((product, size) => product * size, bytesPerElement[dtype])
  if (expected !== bytes) {
    throw unusable(
      file,
      `${field}: shape [${shape.join(', ')}] as ${dtype} needs ${expected} bytes, not ${bytes}`,
    )
  }
  return { name, dtype, shape, offset, bytes }
}

function counts(json: Json | undefined): number[] | null {
  if (!Array.isArray(json)) return null
  const numbers = json.map((item) =>
    item instanceof JsonNumber && /^\d+$/.test(item.literal) ? Number(item.literal) : Number.NaN,
  )
  return numbers.every(Number.isSafeInteger) ? numbers : null
}

function refuseOverlaps(file: string, tensors: Map<string, Tensor>): void {
  const byOffset = [...tensors.values()].filter(({ bytes }) => bytes > 0).sort((a, b) => a.offset - b.offset)
  byOffset.forEach((tensor, index) => {
    const previous = byOffset[index - 1]
    if (previous !== undefined && previous.offset + previous.bytes > tensor.offset) {
      throw unusable(file, `tensors '${excerpt(previous.name)}' and '${excerpt(tensor.name)}' overlap`)
    }
  })
}

/**
 * One tensor, or the rows `[from, to)` of its first axis, widened exactly to float32.
 * @throws LayaError `checkpoint_unusable` when the tensor is absent or the file has become shorter.
 */
export function readTensor(
  header: SafetensorsHeader,
  name: string,
  rows?: { from: number; to: number },
): Float32Array {
  const file = basename(header.path)
  const tensor = header.tensors.get(name)
  if (tensor === undefined) throw unusable(file, `tensor '${excerpt(name)}' is missing`)
  const width = bytesPerElement[tensor.dtype]
  const rowBytes = tensor.shape.slice(1).reduce((product, size) => product * size, width)
  const begin = (rows?.from ?? 0) * rowBytes
  const length = rows === undefined ? tensor.bytes : (rows.to - rows.from) * rowBytes
  if (begin < 0 || length < 0 || begin + length > tensor.bytes) {
    throw new RangeError(`rows ${rows?.from} to ${rows?.to} are outside '${name}'`)
  }
  const raw = new ArrayBuffer(length)
  const descriptor = openSync(header.path, 'r')
  try {
    // One read call takes at most 2 GiB.
    for (let done = 0; done < length; ) {
      const part = new Uint8Array(raw, done, Math.min(length - done, 1 << 30))
      const got = readSync(descriptor, part, 0, part.length, tensor.offset + begin + done)
      if (got === 0) throw unusable(file, `the file ends inside tensor '${excerpt(name)}'`)
      done += got
    }
  } finally {
    closeSync(descriptor)
  }
  return widen(tensor.dtype, raw)
}

function widen(dtype: TensorType, raw: ArrayBuffer): Float32Array {
  if (dtype === 'F32') return new Float32Array(raw)
  const halves = new Uint16Array(raw)
  const widened = new Float32Array(halves.length)
  if (dtype === 'F16') widenFloat16(halves, widened)
  else widenBfloat16(halves, widened)
  return widened
}

/**
 * Reads every weight once and refuses a file that holds NaN or an infinity.
 * @param onProgress bytes checked so far and in all.
 * @throws LayaError `checkpoint_unusable` naming the tensor and the element; the signal's reason when aborted.
 */
export async function scanFinite(
  header: SafetensorsHeader,
  { onProgress, signal }: { onProgress?: (done: number, total: number) => void; signal?: AbortSignal } = {},
): Promise<void> {
  const file = basename(header.path)
  const total = [...header.tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  const chunk = new ArrayBuffer(8 * 2 ** 20)
  const handle = await open(header.path, 'r')
  let done = 0
  try {
    for (const tensor of header.tensors.values()) {
      for (let begin = 0; begin < tensor.bytes; begin += chunk.byteLength) {
        signal?.throwIfAborted()
        const part = new Uint8Array(chunk, 0, Math.min(chunk.byteLength, tensor.bytes - begin))
        const { bytesRead } = await handle.read(part, 0, part.length, tensor.offset + begin)
        if (bytesRead < part.length)
          throw unusable(file, `the file ends inside tensor '${excerpt(tensor.name)}'`)
        const bad = firstNonFinite(tensor.dtype, chunk, part.length)
        if (bad !== -1) {
          const element = begin / bytesPerElement[tensor.dtype] + bad
          throw unusable(
            file,
            `tensor '${excerpt(tensor.name)}' holds a value that is not finite (element ${element})`,
          )
        }
        done += part.length
        onProgress?.(done, total)
      }
    }
  } finally {
    await handle.close()
  }
}

function firstNonFinite(dtype: TensorType, chunk: ArrayBuffer, length: number): number {
  const exponent = { F16: 0x7c00, BF16: 0x7f80, F32: 0x7f800000 }[dtype]
  const bits = dtype === 'F32' ? new Uint32Array(chunk, 0, length / 4) : new Uint16Array(chunk, 0, length / 2)
  for (let index = 0; index < bits.length; index++) {
    if ((bits[index]! & exponent) === exponent) return index
  }
  return -1
}

function unusable(file: string, fault: string, cause?: unknown): LayaError {
  return new LayaError('checkpoint_unusable', `${file}: ${fault}`, {
    hint: 'Download or copy the file again.',
    ...(cause === undefined ? {} : { cause }),
  })
}
