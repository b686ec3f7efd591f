import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SHAPES, type Shape as State } from '../electron/shell/tray.ts'
import { type Bitmap, encodeIcns, encodePng } from './png.ts'
import { circle, diamond, outline, roundedBox, type Shape, stroke, union, without } from './shapes.ts'

/** Points of a menu-bar icon; drawn once at this size and once at twice as many pixels. */
export const TRAY_POINTS = 16

/** One sign in five forms, told apart by shape alone: a template image has no colour. */
const SIGN = diamond(8, 8, 7.9, 1.9)
const BADGE = circle(13, 3, 2.4)
/** Shallow: at 45° it would run along two sides of the sign and read as a pattern. */
const SLASH = stroke(1.4, 4.5, 14.6, 11.5, 1.6)

export const TRAY: Record<State, Shape> = {
  off: outline(SIGN, 1.5),
  loading: dots(),
  ready: SIGN,
  busy: union(without(SIGN, BADGE, 1.1), BADGE),
  failed: union(without(outline(SIGN, 1.5), SLASH, 1), SLASH),
}

/** Eight dots on the outline of the sign: one at each corner, one in the middle of each side. */
function dots(): Shape {
  const corner = 5.9
  const places = [0, 1, 2, 3].flatMap((quarter) => {
    const [dx, dy] = [
      [1, 0],
      [0, 1],
      [-1, 0],
      [0, -1],
    ][quarter]!
    const [nx, ny] = [-dy!, dx!]
    return [
      [dx! * corner, dy! * corner],
      [((dx! + nx) * corner) / 2, ((dy! + ny) * corner) / 2],
    ]
  })
  return union(...places.map(([x, y]) => circle(8 + x!, 8 + y!, 1.15)))
}

/** Black with alpha, as macOS wants template images. */
export function drawTray(state: State, scale: 1 | 2): Bitmap {
  return paint(TRAY_POINTS * scale, TRAY_POINTS, [{ shape: TRAY[state], colour: () => [0, 0, 0, 1] }])
}

type Colour = [red: number, green: number, blue: number, alpha: number]
interface Layer {
  shape: Shape
  /** Channels 0..255, alpha 0..1, at a place of the drawing. */
  colour: (x: number, y: number) => Colour
  /** Width of a soft edge in the unit of the drawing; absent = one pixel. */
  blur?: number
}

const solid =
  (...colour: Colour) =>
  (): Colour =>
    colour

/** The app: the sign of a decision on a plate, with three answers of falling probability in it. */
const PLATE = roundedBox(512, 512, 412, 412, 186)
const FACE = diamond(512, 512, 372, 74)
const APP: Layer[] = [
  { shape: roundedBox(512, 524, 412, 412, 186), colour: solid(0, 0, 0, 0.3), blur: 36 },
  { shape: PLATE, colour: (_x, y) => mix([92, 107, 232, 1], [38, 34, 120, 1], (y - 100) / 824) },
  { shape: diamond(512, 528, 372, 74), colour: solid(14, 10, 60, 0.35), blur: 44 },
  { shape: FACE, colour: (_x, y) => mix([255, 255, 255, 1], [226, 230, 250, 1], (y - 200) / 640) },
  { shape: stroke(376, 408, 648, 408, 76), colour: solid(64, 66, 184, 1) },
  { shape: stroke(376, 512, 524, 512, 76), colour: solid(64, 66, 184, 0.5) },
  { shape: stroke(376, 616, 424, 616, 76), colour: solid(64, 66, 184, 0.28) },
]

export function drawApp(pixels: number): Bitmap {
  return paint(pixels, 1024, APP)
}

function mix(from: Colour, to: Colour, share: number): Colour {
  const t = Math.max(0, Math.min(1, share))
  return from.map((value, n) => value + (to[n]! - value) * t) as Colour
}

/** Draws layers over each other, each with an edge of one pixel that covers as much as the shape does. */
function paint(pixels: number, unit: number, layers: Layer[]): Bitmap {
  const scale = pixels / unit
  const bytes = new Uint8Array(pixels * pixels * 4)
  for (let row = 0; row < pixels; row++) {
    for (let column = 0; column < pixels; column++) {
      const [x, y] = [(column + 0.5) / scale, (row + 0.5) / scale]
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (const { shape, colour, blur } of layers) {
        const edge = Math.max(blur ?? 0, 1 / scale)
        const cover = Math.max(0, Math.min(1, 0.5 - shape(x, y) / edge))
        if (cover === 0) continue
        const [r, g, b, a] = colour(x, y)
        // Soft edges fall off smoothly, hard ones linearly: those are coverage.
        const over = a * (blur === undefined ? cover : cover * cover * (3 - 2 * cover))
        const sum = over + alpha * (1 - over)
        const blend = (above: number, below: number) => (above * over + below * alpha * (1 - over)) / sum
        red = blend(r, red)
        green = blend(g, green)
        blue = blend(b, blue)
        alpha = sum
      }
      bytes.set([red, green, blue, alpha * 255].map(Math.round), (row * pixels + column) * 4)
    }
  }
  return { width: pixels, height: pixels, pixels: bytes }
}

/** Writes every icon the app needs into `folder` and returns their names. */
export function writeIcons(folder: string): string[] {
  mkdirSync(folder, { recursive: true })
  const files: [string, Buffer][] = SHAPES.flatMap((state): [string, Buffer][] => [
    [`${state}Template.png`, encodePng(drawTray(state, 1))],
    [`${state}Template@2x.png`, encodePng(drawTray(state, 2))],
  ])
  const draw = (pixels: number) => encodePng(drawApp(pixels))
  files.push(['app.png', draw(512)], ['app.icns', encodeIcns(draw)])
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes)
  return files.map(([name]) => name)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('../dist/icons', import.meta.url))
  console.log(`${writeIcons(folder).length} icons in ${folder}`)
}
