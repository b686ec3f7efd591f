import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { LayaError } from './errors.ts'
import { readHeader, readTensor, scanFinite } from './safetensors.ts'

const folder = mkdtempSync(join(tmpdir(), 'laya-safetensors-'))
afterAll(() => rmSync(folder, { recursive: true }))

const demo = fileURLToPath(new URL('demo/model.safetensors', import.meta.url))
let count = 0

/** A file with this header (an object or raw text) and these data. */
function file(header: unknown, data: Uint8Array, length?: bigint): string {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(length ?? BigInt(text.length))
  const path = join(folder, `case-${count++}.safetensors`)
  writeFileSync(path, Buffer.concat([prefix, text, data]))
  return path
}

const tensor = (dtype: string, shape: unknown, data_offsets: unknown) => ({ dtype, shape, data_offsets })
const bytes = (values: ArrayBufferView): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

describe('the table of tensors', () => {
  it('gives absolute positions for the demo checkpoint', () => {
    const header = readHeader(demo)
    const raw = readFileSync(demo)
    const length = Number(raw.readBigUInt64LE())
    const table = JSON.parse(raw.subarray(8, 8 + length).toString())
    expect(header.fileBytes).toBe(raw.length)
    expect([...header.tensors.keys()]).toEqual(Object.keys(table))
    for (const [name, { dtype, shape, data_offsets }] of Object.entries<ReturnType<typeof tensor>>(table)) {
      const [begin, end] = data_offsets as [number, number]
      expect(header.tensors.get(name)).toEqual({
        name,
        dtype,
        shape,
        offset: 8 + length + begin,
        bytes: end - begin,
      })
    }
  })

  it('skips metadata and accepts empty tensors and padding of the header', () => {
    const header = {
      __metadata__: { format: 'pt' },
      a: tensor('F32', [0, 4], [4, 4]),
      b: tensor('F32', [], [0, 4]),
    }
    const path = file(`${JSON.stringify(header)}   `, new Uint8Array(4))
    expect([...readHeader(path).tensors.keys()]).toEqual(['a', 'b'])
  })

  const eight = new Uint8Array(8)
  it.each<[string, string, () => string]>([
    ['no file', 'the file cannot be opened', () => join(folder, 'absent.safetensors')],
    [
      'no header',
      '4 bytes are too few',
      () => {
        const path = join(folder, 'short.safetensors')
        writeFileSync(path, new Uint8Array(4))
        return path
      },
    ],
    [
      'header beyond the file',
      'the header should have 1000 bytes, but only 10 follow',
      () => file('{}', eight, 1000n),
    ],
    [
      'header of 101 MB',
      'a header of 101000000 bytes is above 100 MB',
      () => file('{}', eight, 101_000_000n),
    ],
    ['header length of 64 bits', 'above 100 MB', () => file('{}', eight, 2n ** 64n - 1n)],
    ['header not JSON', "the header must be valid JSON: unexpected 'x'", () => file('{x}', eight)],
    ['header a list', 'the header is not a JSON object', () => file('[]', eight)],
    [
      'header nested without end',
      'the header is nested deeper than 4 levels',
      () => file('{"a":'.repeat(9999), eight),
    ],
    [
      'header not UTF-8',
      'the header is not UTF-8',
      () => {
        const path = file('{"aa":1}', eight)
        const raw = readFileSync(path)
        raw[10] = 0xff
        writeFileSync(path, raw)
        return path
      },
    ],
    [
      'name repeated',
      "duplicate member 'a'",
      () =>
        file(
          '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
          eight,
        ),
    ],
    ['entry not an object', "tensor 'a' is not described by an object", () => file({ a: 1 }, eight)],
    ['type unknown', "tensor 'a': dtype is 'I64'", () => file({ a: tensor('I64', [1], [0, 8]) }, eight)],
    [
      'type missing',
      "tensor 'a': dtype is missing",
      () => file({ a: { shape: [2], data_offsets: [0, 8] } }, eight),
    ],
    [
      'shape negative',
      "tensor 'a': shape is not a list of sizes",
      () => file({ a: tensor('F32', [-2], [0, 8]) }, eight),
    ],
    ['shape fractional', "tensor 'a': shape is not", () => file({ a: tensor('F32', [1.5], [0, 8]) }, eight)],
    [
      'shape beyond all bounds',
      "tensor 'a': shape is not",
      () => file(`{"a":{"dtype":"F32","shape":[1${'0'.repeat(30)}],"data_offsets":[0,8]}}`, eight),
    ],
    ['product overflows', 'not 8', () => file({ a: tensor('F32', [2 ** 40, 2 ** 40], [0, 8]) }, eight)],
    [
      'range backwards',
      "tensor 'a': data_offsets is not a range",
      () => file({ a: tensor('F32', [1], [8, 4]) }, eight),
    ],
    ['range outside', "tensor 'a' ends at byte", () => file({ a: tensor('F32', [4], [0, 16]) }, eight)],
    [
      'length wrong',
      "tensor 'a': shape [2] as F16 needs 4 bytes, not 8",
      () => file({ a: tensor('F16', [2], [0, 8]) }, eight),
    ],
    [
      'overlap',
      "tensors 'a' and 'b' overlap",
      () => file({ b: tensor('F16', [2], [2, 6]), a: tensor('F16', [2], [0, 4]) }, eight),
    ],
  ])('refuses: %s', (_, sentence, path) => {
    expect.assertions(3)
    try {
      readHeader(path())
    } catch (error) {
      expect(error).toBeInstanceOf(LayaError)
      expect((error as LayaError).code).toBe('checkpoint_unusable')
      expect((error as LayaError).message).toContain(sentence)
    }
  })

  it('refuses the demo checkpoint cut short', () => {
    const path = join(folder, 'cut.safetensors')
    writeFileSync(path, readFileSync(demo).subarray(0, 9_000_000))
    expect(() => readHeader(path)).toThrow(
      /^cut\.safetensors: tensor '.*' ends at byte \d+, but the file has 9000000$/,
    )
  })
})

describe('reading tensors', () => {
  it('widens every float16 exactly', () => {
    const halves = Uint16Array.from({ length: 65536 }, (_, bits) => bits)
    const widened = readTensor(
      readHeader(file({ a: tensor('F16', [256, 256], [0, 131072]) }, bytes(halves))),
      'a',
    )
    // Expected values by NumPy's own conversion rule, written out: sign, exponent, fraction.
    const sample: [number, number][] = [
      [0x0000, 0],
      [0x8000, -0],
      [0x0001, 2 ** -24],
      [0x03ff, 0.00006097555160522461],
      [0x0400, 0.00006103515625],
      [0x3555, 0.333251953125],
      [0x3c00, 1],
      [0xc000, -2],
      [0x7bff, 65504],
      [0x7c00, Infinity],
      [0xfc00, -Infinity],
    ]
    for (const [bits, value] of sample) expect(widened[bits]).toBe(value)
    expect(widened[0x7e00]).toBeNaN()
    // All finite values are ordered like their bits: no value is lost or doubled.
    for (let bits = 1; bits < 0x7c00; bits++) expect(widened[bits]!).toBeGreaterThan(widened[bits - 1]!)
  })

  it('widens bfloat16 as the upper half of a float32 and reads float32 as it is', () => {
    const values = Float32Array.from([1, -2.5, 3.140625, 1e-40, Infinity])
    const upper = Uint16Array.from(new Uint32Array(values.buffer), (bits) => bits >>> 16)
    const data = Buffer.concat([bytes(upper), bytes(values)])
    const header = readHeader(
      file({ b: tensor('BF16', [5], [0, 10]), f: tensor('F32', [5], [10, 30]) }, data),
    )
    expect([...readTensor(header, 'f')]).toEqual([...values])
    expect([...readTensor(header, 'b')].slice(0, 3)).toEqual([1, -2.5, 3.140625])
    expect(readTensor(header, 'b')[4]).toBe(Infinity)
  })

  it('reads rows of a matrix', () => {
    const header = readHeader(demo)
    const all = readTensor(header, 'encoder.embeddings.tok_embeddings.weight')
    expect(all).toHaveLength(8000 * 256)
    expect(readTensor(header, 'encoder.embeddings.tok_embeddings.weight', { from: 7996, to: 8000 })).toEqual(
      all.slice(7996 * 256),
    )
    expect(readTensor(header, 'type_emb.weight', { from: 1, to: 1 })).toHaveLength(0)
    expect(() => readTensor(header, 'type_emb.weight', { from: 2, to: 4 })).toThrow(RangeError)
    expect(() => readTensor(header, 'nothing')).toThrow("tensor 'nothing' is missing")
  })

  it('says so when the file shrank after its header was read', () => {
    const path = file({ a: tensor('F32', [2], [0, 8]) }, new Uint8Array(8))
    const header = readHeader(path)
    writeFileSync(path, readFileSync(path).subarray(0, -4))
    expect(() => readTensor(header, 'a')).toThrow("the file ends inside tensor 'a'")
  })
})

describe('the scan for values that are not finite', () => {
  it('passes the demo checkpoint and reports its progress', async () => {
    const header = readHeader(demo)
    const seen: [number, number][] = []
    await scanFinite(header, { onProgress: (done, total) => seen.push([done, total]) })
    const total = [...header.tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0)
    expect(seen.at(-1)).toEqual([total, total])
  })

  it.each([
    ['F16', Uint16Array.from([0x3c00, 0x7bff, 0xfc00])],
    ['BF16', Uint16Array.from([0x3f80, 0x7f7f, 0x7fc0])],
    ['F32', Float32Array.from([1, -3.4e38, Number.NaN])],
  ])('finds one in %s', async (dtype, values) => {
    const header = readHeader(file({ w: tensor(dtype, [3], [0, values.byteLength]) }, bytes(values)))
    await expect(scanFinite(header)).rejects.toThrow(
      "tensor 'w' holds a value that is not finite (element 2)",
    )
  })

  it('finds one behind the first chunk', async () => {
    const values = new Uint16Array(6_000_000)
    values[5_999_998] = 0x7e00
    const header = readHeader(file({ w: tensor('F16', [6_000_000], [0, 12_000_000]) }, bytes(values)))
    await expect(scanFinite(header)).rejects.toThrow('(element 5999998)')
  })

  it('stops when asked', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'))
    await expect(scanFinite(readHeader(demo), { signal })).rejects.toThrow('cancelled')
  })
})
