import { closeSync, openSync, readSync } from 'node:fs'
import type { Checkpoint } from './checkpoint.ts'
import { LayaError } from './errors.ts'
import { widenBfloat16, widenFloat16 } from './float16.ts'

/** Rows of the token embedding matrix, read in place from `model.safetensors`: the table is never held in memory. */
export interface EmbeddingTable {
  /** Type of the rows `copy` writes; float16 as bit patterns. */
  readonly type: 'float16' | 'float32'
  readonly width: number
  /** Id of the pad token. */
  readonly pad: number
  /** Writes the row of a token at an offset of `target`. Throws LayaError `inference_failed`. */
  copy(token: number, target: Uint16Array | Float32Array, offset: number): void
  close(): void
}

/** Recently used rows are kept: separators, masks and the words of repeated questions come with every request. */
const CACHE_BYTES = 4 * 2 ** 20

/** @param type what the graph's `emb` input takes; float16 only for a table stored as F16. */
export function openEmbeddingTable(
  { header, special }: Pick<Checkpoint, 'header' | 'special'>,
  type: 'float16' | 'float32',
): EmbeddingTable {
  const tensor = header.tensors.get('encoder.embeddings.tok_embeddings.weight')
  if (tensor === undefined) throw new RangeError('The checkpoint has no token embeddings.')
  if (type === 'float16' && tensor.dtype !== 'F16')
    throw new RangeError('The table is not stored as float16.')
  const [vocabulary, width] = tensor.shape as [number, number]
  const rowBytes = tensor.bytes / vocabulary
  const file = openSync(header.path, 'r')

  const raw = new Uint8Array(rowBytes)
  const halves = tensor.dtype === 'F32' ? null : new Uint16Array(raw.buffer)
  const elementBytes = type === 'float16' ? 2 : 4
  const slots = Math.min(vocabulary, Math.max(1, Math.floor(CACHE_BYTES / (width * elementBytes))))
  const cached = type === 'float16' ? new Uint16Array(slots * width) : new Float32Array(slots * width)
  const owners = new Int32Array(slots).fill(-1)

  function load(token: number, slot: number): void {
    let got = 0
    try {
      got = readSync(file, raw, 0, rowBytes, tensor!.offset + token * rowBytes)
    } catch (cause) {
      throw unreadable(cause)
    }
    if (got !== rowBytes) throw unreadable()
    const row = cached.subarray(slot * width, (slot + 1) * width)
    if (row instanceof Uint16Array) row.set(halves!)
    else if (tensor!.dtype === 'F16') widenFloat16(halves!, row)
    else if (tensor!.dtype === 'BF16') widenBfloat16(halves!, row)
    else row.set(new Float32Array(raw.buffer))
    owners[slot] = token
  }

  return {
    type,
    width,
    pad: special.pad,
    copy(token, target, offset) {
      if (token < 0 || token >= vocabulary) {
        throw new LayaError('inference_failed', `Token ${token} is outside the checkpoint's vocabulary.`, {
          hint: 'Verify the checkpoint: its tokenizer does not belong to its weights.',
        })
      }
      const slot = token % slots
      if (owners[slot] !== token) load(token, slot)
      target.set(cached.subarray(slot * width, (slot + 1) * width), offset)
    },
    close: () => closeSync(file),
  }
}

function unreadable(cause?: unknown): LayaError {
  return new LayaError('inference_failed', 'The token embeddings in model.safetensors could not be read.', {
    hint: 'Check that the disk is connected, then verify the checkpoint.',
    ...(cause === undefined ? {} : { cause }),
  })
}
