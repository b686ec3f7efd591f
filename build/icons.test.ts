import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SHAPES } from '../electron/shell/tray.ts'
import { drawTray, writeIcons } from './icons.ts'
import { encodePng } from './png.ts'

let folder: string
let names: string[]
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-icons-'))
  names = writeIcons(folder)
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

/** What a PNG says about itself, and its pixels (own files have no row filters). */
function readPng(bytes: Buffer) {
  expect(bytes.subarray(0, 8).toString('hex')).toBe('89504e470d0a1a0a')
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  expect([...bytes.subarray(24, 29)]).toEqual([8, 6, 0, 0, 0])
  const rows = inflateSync(bytes.subarray(41, 41 + bytes.readUInt32BE(33)))
  const alpha = (x: number, y: number) => rows[y * (width * 4 + 1) + 1 + x * 4 + 3]!
  return { width, height, alpha, rows }
}

describe('menu bar', () => {
  test.each(SHAPES)('%s: 16 and 32 pixels under the names that macOS looks for', (shape) => {
    const once = readPng(readFileSync(join(folder, `${shape}Template.png`)))
    const twice = readPng(readFileSync(join(folder, `${shape}Template@2x.png`)))
    expect([once.width, once.height, twice.width, twice.height]).toEqual([16, 16, 32, 32])
  })

  test('black with alpha alone, and nothing touches the edge of the picture', () => {
    for (const shape of SHAPES) {
      const { pixels } = drawTray(shape, 2)
      for (let n = 0; n < pixels.length; n += 4) expect([...pixels.subarray(n, n + 3)]).toEqual([0, 0, 0])
      const corners = [0, 31, 31 * 32, 32 * 32 - 1].map((n) => pixels[n * 4 + 3])
      expect(corners, shape).toEqual([0, 0, 0, 0])
    }
  })

  test('the states differ by shape: enough pixels change between any two', () => {
    const painted = SHAPES.map((shape) => drawTray(shape, 2).pixels)
    for (const [a, one] of painted.entries()) {
      for (const [b, other] of painted.entries()) {
        if (a >= b) continue
        const changed = one.filter((value, n) => n % 4 === 3 && Math.abs(value - other[n]!) > 127).length
        expect(changed, `${SHAPES[a]} and ${SHAPES[b]}`).toBeGreaterThan(60)
      }
    }
  })

  test('off is hollow, ready is filled', () => {
    const centre = (shape: (typeof SHAPES)[number]) => drawTray(shape, 2).pixels[(16 * 32 + 16) * 4 + 3]
    expect([centre('off'), centre('loading'), centre('ready'), centre('busy')]).toEqual([0, 0, 255, 255])
  })
})

test('the app icon holds every size macOS asks for, each a PNG', () => {
  const icns = readFileSync(join(folder, 'app.icns'))
  expect([icns.toString('latin1', 0, 4), icns.readUInt32BE(4)]).toEqual(['icns', icns.length])
  const sizes: Record<string, number> = {}
  for (let at = 8; at < icns.length; at += icns.readUInt32BE(at + 4)) {
    const png = icns.subarray(at + 8, at + icns.readUInt32BE(at + 4))
    sizes[icns.toString('latin1', at, at + 4)] = readPng(png).width
  }
  expect(sizes).toEqual({
    icp4: 16,
    icp5: 32,
    ic07: 128,
    ic08: 256,
    ic09: 512,
    ic10: 1024,
    ic11: 32,
    ic12: 64,
    ic13: 256,
    ic14: 512,
  })
  const plate = readPng(readFileSync(join(folder, 'app.png')))
  expect([plate.alpha(0, 0), plate.alpha(256, 256)]).toEqual([0, 255])
})

test('all files are named', () => {
  expect(names).toHaveLength(SHAPES.length * 2 + 2)
})

test('a bitmap of the wrong size is refused', () => {
  expect(() => encodePng({ width: 2, height: 2, pixels: new Uint8Array(15) })).toThrow('4 bytes each')
})
