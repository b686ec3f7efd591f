import { createWriteStream, existsSync } from 'node:fs'
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Architecture } from '../models/config.ts'
import { toFloat16 } from '../models/float16.ts'
import { tensorShapes } from '../models/inventory.ts'
import { createRandom } from '../models/random.ts'
import type { SafetensorsHeader, Tensor } from '../models/safetensors.ts'
import {
  architectureOf,
  CHECKPOINT_SHAPES,
  configurationFiles,
  type ShapeName,
  tokenizerSource,
} from './checkpoint-shapes.ts'

/** Elements generated at a time. */
const CHUNK_ELEMENTS = 2 ** 20

/** Number of different values a tensor of random weights is drawn from; a power of two. */
const POOL = 4096

/**
 * Writes a checkpoint folder of random weights: loads and runs like a real one of that shape, answers nonsense. The
 * same seed gives the same bytes. Memory stays at some MB for any size.
 */
export async function makeCheckpoint(name: ShapeName, folder: string, seed = 1): Promise<void> {
  const shape = CHECKPOINT_SHAPES[name]
  for (const [file, content] of Object.entries(configurationFiles(name))) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), `${JSON.stringify(content, null, 2)}\n`)
  }
  const { folder: source, config } = tokenizerSource(shape)
  await mkdir(join(folder, 'tokenizer'), { recursive: true })
  await copyFile(join(source, 'tokenizer.json'), join(folder, 'tokenizer/tokenizer.json'))
  const configFile = join(folder, 'tokenizer/tokenizer_config.json')
  if (config === undefined) await copyFile(join(source, 'tokenizer_config.json'), configFile)
  else await writeFile(configFile, `${JSON.stringify(config, null, 2)}\n`)

  const path = join(folder, 'model.safetensors')
  const { prefix, header } = layoutWeights(architectureOf(shape), shape.temperatureType)
  await writeWeights(`${path}.draft`, prefix, header, shape.layers, seed)
  await rename(`${path}.draft`, path)
}

/**
 * The table of tensors such a file has, in the order the safetensors library writes (wider types first, then names),
 * without any weights.
 */
export function layoutWeights(
  architecture: Architecture,
  temperatureType: 'F32' | 'F16',
): { prefix: Buffer; header: SafetensorsHeader } {
  const entries = [...tensorShapes(architecture)]
    .map(([name, shape]) => ({
      name,
      shape,
      dtype: name === 'temperature' ? temperatureType : ('F16' as const),
    }))
    .sort((a, b) => (a.dtype === b.dtype ? (a.name < b.name ? -1 : 1) : a.dtype === 'F32' ? -1 : 1))
  const table: Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }> = {}
  let end = 0
  for (const { name, shape, dtype } of entries) {
    const bytes = shape.reduce((product, size) => product * size, dtype === 'F32' ? 4 : 2)
    table[name] = { dtype, shape, data_offsets: [end, end + bytes] }
    end += bytes
  }
  const json = Buffer.from(JSON.stringify(table))
  const padded = Math.ceil(json.length / 8) * 8
  const prefix = Buffer.alloc(8 + padded, ' ')
  prefix.writeBigUInt64LE(BigInt(padded))
  json.copy(prefix, 8)
  const tensors = new Map<string, Tensor>()
  for (const { name, shape, dtype } of entries) {
    const [from, to] = table[name]!.data_offsets
    tensors.set(name, { name, dtype, shape, offset: prefix.length + from, bytes: to - from })
  }
  return { prefix, header: { path: '', fileBytes: prefix.length + end, tensors } }
}

async function writeWeights(
  path: string,
  prefix: Buffer,
  header: SafetensorsHeader,
  layers: number,
  seed: number,
): Promise<void> {
  const stream = createWriteStream(path)
  const write = (bytes: Uint8Array) =>
    stream.write(bytes) ? null : new Promise<void>((resolve) => stream.once('drain', resolve))
  await write(prefix)
  let index = 0
  for (const tensor of header.tensors.values()) {
    const pool = createPool(tensor, layers, createRandom(seed * 1_000_003 + index++))
    const count = tensor.bytes / (tensor.dtype === 'F32' ? 4 : 2)
    let state = (seed * 0x9e3779b1 + index * 0x85ebca6b) | 1
    for (let from = 0; from < count; from += CHUNK_ELEMENTS) {
      const size = Math.min(CHUNK_ELEMENTS, count - from)
      const values = tensor.dtype === 'F32' ? new Float32Array(size) : new Uint16Array(size)
      for (let i = 0; i < size; i++) {
        // xorshift32: a draw costs a nanosecond, and 421 million are needed.
        state ^= state << 13
        state ^= state >>> 17
        state ^= state << 5
        values[i] = pool[(state >>> 7) & (POOL - 1)]!
      }
      await write(new Uint8Array(values.buffer))
    }
  }
  stream.end()
  await finished(stream)
}

/** ModernBERT's start: normal with 0.02, projections into the residual narrower by √(2·layers); norms around one. */
function createPool(
  { name, shape, dtype }: Tensor,
  layers: number,
  random: ReturnType<typeof createRandom>,
): number[] {
  const residual = /Wo\.weight|out_proj\.weight|linear2\.weight/.test(name)
  const spread = residual ? 0.02 / Math.sqrt(2 * layers) : 0.02
  const centre =
    name === 'temperature' ? 1 : shape.length === 1 && /norm|scorer\.0\.weight/.test(name) ? 1 : 0
  return Array.from({ length: POOL }, () => {
    const value =
      name === 'temperature' ? 1 : centre * Number(!name.endsWith('bias')) + spread * random.normal()
    return dtype === 'F32' ? value : toFloat16(value)
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { shape: { type: 'string' }, out: { type: 'string' }, seed: { type: 'string', default: '1' } },
  })
  const known = Object.keys(CHECKPOINT_SHAPES)
  if (values.out === undefined || values.shape === undefined || !known.includes(values.shape)) {
    console.error(`Usage: npx tsx bench/make-checkpoint.ts --shape <${known.join('|')}> --out DIR [--seed N]`)
    process.exitCode = 2
  } else if (existsSync(join(values.out, 'model.safetensors'))) {
    console.error(`${values.out} already holds a checkpoint. Choose another folder, or remove it.`)
    process.exitCode = 1
  } else {
    const start = performance.now()
    await makeCheckpoint(values.shape as ShapeName, values.out, Number(values.seed))
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    console.log(`Random ${values.shape} checkpoint in ${values.out}, written in ${seconds} s.`)
  }
}
