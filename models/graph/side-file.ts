import { open } from 'node:fs/promises'
import { LayaError } from '../errors.ts'
import { toFloat16 } from '../float16.ts'
import { readTensor, type SafetensorsHeader } from '../safetensors.ts'
import type { SideEntry } from './weights.ts'

export interface SideFileOptions {
  signal?: AbortSignal
  onBytes?: (bytes: number) => void
}

/** Elements converted at a time: bounds the memory to some tens of MB for any checkpoint. */
const CHUNK_ELEMENTS = 2 ** 21

/** Size of the side file that holds these entries. */
export function sideFileBytes(entries: SideEntry[]): number {
  const last = entries.at(-1)
  return last === undefined ? 0 : last.offset + last.bytes
}

/**
 * Writes the converted weights of a profile, tensor by tensor, into a new file.
 * @throws LayaError `checkpoint_unusable` for a weight that its new format cannot hold; the signal's reason when
 *   aborted, with a part of the file left behind.
 */
export async function writeSideFile(
  header: SafetensorsHeader,
  entries: SideEntry[],
  path: string,
  { signal, onBytes }: SideFileOptions = {},
): Promise<void> {
  const handle = await open(path, 'wx')
  try {
    for (const entry of entries) {
      let position = entry.offset
      for (const bytes of convertEntry(header, entry)) {
        signal?.throwIfAborted()
        await handle.write(bytes, 0, bytes.length, position)
        position += bytes.length
        onBytes?.(bytes.length)
      }
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function* convertEntry(header: SafetensorsHeader, entry: SideEntry): Generator<Uint8Array> {
  const { tensor, rows, form } = entry
  const width = header.tensors
    .get(tensor)!
    .shape.slice(1)
    .reduce((product, size) => product * size, 1)
  if (form === 'float32-transposed') {
    yield bytesOf(transpose(readTensor(header, tensor, rows), width))
    return
  }
  const step = Math.max(1, Math.floor(CHUNK_ELEMENTS / width))
  for (let from = rows.from; from < rows.to; from += step) {
    const values = readTensor(header, tensor, { from, to: Math.min(rows.to, from + step) })
    yield bytesOf(form === 'float32' ? values : narrow(tensor, values))
  }
}

function narrow(tensor: string, values: Float32Array): Uint16Array {
  const bits = Uint16Array.from(values, toFloat16)
  const beyond = bits.findIndex((value) => (value & 0x7c00) === 0x7c00)
  if (beyond !== -1) {
    throw new LayaError(
      'checkpoint_unusable',
      `model.safetensors: tensor '${tensor}' holds ${values[beyond]}, which is beyond float16.`,
      { hint: 'Use an engine with float32 weights.' },
    )
  }
  return bits
}

function transpose(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns
  const turned = new Float32Array(values.length)
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      turned[column * rows + row] = values[row * columns + column]!
    }
  }
  return turned
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}
