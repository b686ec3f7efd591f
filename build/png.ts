import { crc32, deflateSync } from 'node:zlib'

/** Straight (not premultiplied) 8-bit RGBA, row by row from the top. */
export interface Bitmap {
  width: number
  height: number
  pixels: Uint8Array
}

/** PNG, 8 bits per channel with alpha (RFC 2083). Built here so that the icons need no image library. */
export function encodePng({ width, height, pixels }: Bitmap): Buffer {
  if (pixels.length !== width * height * 4) throw new Error(`${width} × ${height} pixels need 4 bytes each`)
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 6, 0, 0, 0], 8)
  const stride = width * 4
  const rows = Buffer.alloc((stride + 1) * height)
  // Filter 0 (none) before each row: icons are small and mostly flat.
  for (let y = 0; y < height; y++)
    rows.set(pixels.subarray(y * stride, (y + 1) * stride), y * (stride + 1) + 1)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}

/** The parts of an Apple icon file, by the edge of their image in pixels. Each holds a PNG. */
const ICNS_TYPES: [type: string, pixels: number][] = [
  ['icp4', 16],
  ['icp5', 32],
  ['ic07', 128],
  ['ic08', 256],
  ['ic09', 512],
  ['ic10', 1024],
  ['ic11', 32],
  ['ic12', 64],
  ['ic13', 256],
  ['ic14', 512],
]

/** @param draw gives the PNG of one size; asked once per size. */
export function encodeIcns(draw: (pixels: number) => Buffer): Buffer {
  const drawn = new Map<number, Buffer>()
  const parts = ICNS_TYPES.map(([type, pixels]) => {
    const png = drawn.get(pixels) ?? draw(pixels)
    drawn.set(pixels, png)
    const head = Buffer.alloc(8)
    head.write(type, 0, 'latin1')
    head.writeUInt32BE(png.length + 8, 4)
    return Buffer.concat([head, png])
  })
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(8)
  head.write('icns', 0, 'latin1')
  head.writeUInt32BE(body.length + 8, 4)
  return Buffer.concat([head, body])
}
