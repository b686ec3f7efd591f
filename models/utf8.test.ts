import { describe, expect, it } from 'vitest'
import { decodeBody } from './utf8.ts'

describe('bytes of a body', () => {
  const bytes = (...list: (number | string)[]): Uint8Array =>
    Buffer.concat(list.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))))

  it('reads UTF-8 and skips one byte order mark', () => {
    expect(decodeBody(bytes('{"a":"é😀"}'))).toBe('{"a":"é😀"}')
    expect(decodeBody(bytes(0xef, 0xbb, 0xbf, '[]'))).toBe('[]')
    expect(decodeBody(bytes(0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, '[]'))).toBe('\ufeff[]')
    expect(decodeBody(bytes('"\ufffd"'))).toBe('"\ufffd"')
  })

  it.each([
    [bytes('"ab', 0xff, '"'), 3],
    [bytes('"\ufffd', 0xc3, '("'), 4],
    [bytes('"', 0xe2, 0x82, 'x'), 1],
    [bytes('"', 0xef, 'x'), 1],
    [bytes('"', 0xef, 0xbf), 1],
    [bytes('"é', 0xed, 0xa0, 0x80, '"'), 3],
    [bytes('"', 0xc0, 0x80, '"'), 1],
    [bytes('"', 0xf4, 0x90, 0x80, 0x80, '"'), 1],
    [bytes('"😀', 0x80), 5],
    [Buffer.from('\ufeff{}', 'utf16le'), 0],
    [Buffer.from('{}', 'utf16le'), 1],
    [bytes(0, '{', 0, '}'), 0],
    [bytes(0, 0, 0xfe, 0xff, 0, 0, 0, '{'), 2],
    [bytes('{', 0, 0, 0, '}', 0, 0, 0), 1],
  ])('refuses %# with the first byte that is not UTF-8', (body, offset) => {
    expect(() => decodeBody(body)).toThrow(`request body is not valid UTF-8 (byte ${offset})`)
  })

  it('refuses no bytes', () => {
    expect(() => decodeBody(new Uint8Array())).toThrow('request body is empty')
  })
})
