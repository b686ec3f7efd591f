/** Signed distance to the edge of a shape at (x, y): negative inside, in the unit of the drawing. */
export type Shape = (x: number, y: number) => number

export const circle =
  (cx: number, cy: number, radius: number): Shape =>
  (x, y) =>
    Math.hypot(x - cx, y - cy) - radius

/** Axis-parallel, `radius` at the corners. */
export const roundedBox =
  (cx: number, cy: number, halfWidth: number, halfHeight: number, radius: number): Shape =>
  (x, y) => {
    const dx = Math.abs(x - cx) - halfWidth + radius
    const dy = Math.abs(y - cy) - halfHeight + radius
    return Math.hypot(Math.max(dx, 0), Math.max(dy, 0)) + Math.min(Math.max(dx, dy), 0) - radius
  }

/** The sign of a decision in a flow chart: a square on its corner, `reach` from centre to corner before rounding. */
export const diamond = (cx: number, cy: number, reach: number, radius: number): Shape => {
  const half = reach / Math.SQRT2
  const square = roundedBox(0, 0, half, half, radius)
  return (x, y) => square((x - cx + (y - cy)) / Math.SQRT2, (y - cy - (x - cx)) / Math.SQRT2)
}

/** A line with round ends. */
export const stroke =
  (x1: number, y1: number, x2: number, y2: number, width: number): Shape =>
  (x, y) => {
    const [dx, dy] = [x2 - x1, y2 - y1]
    const t = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)))
    return Math.hypot(x - x1 - t * dx, y - y1 - t * dy) - width / 2
  }

/** Only the outer `width` of a shape. */
export const outline =
  (shape: Shape, width: number): Shape =>
  (x, y) =>
    Math.abs(shape(x, y) + width / 2) - width / 2

export const union =
  (...shapes: Shape[]): Shape =>
  (x, y) =>
    Math.min(...shapes.map((shape) => shape(x, y)))

/** `shape` without `hole` and without `gap` around it. */
export const without =
  (shape: Shape, hole: Shape, gap = 0): Shape =>
  (x, y) =>
    Math.max(shape(x, y), gap - hole(x, y))
