import type { Point } from '../contract.ts'

/** The charts' data: the last two minutes second by second, the last hour in buckets of `BUCKET_SECONDS`. */
export interface Window {
  /** One second has ended. */
  second(point: Point): void
  /** A bucket has ended. Its percentiles come from its own samples: percentiles of percentiles would be wrong. */
  bucket(point: Point): void
  minutes2(): Point[]
  hour(): Point[]
}

export const BUCKET_SECONDS = 30

export function createWindow(): Window {
  const seconds = createRing(120, 1)
  const buckets = createRing(3600 / BUCKET_SECONDS, BUCKET_SECONDS)
  return {
    second: seconds.push,
    bucket: buckets.push,
    minutes2: seconds.points,
    hour: buckets.points,
  }
}

function createRing(capacity: number, step: number): { push(point: Point): void; points(): Point[] } {
  let points: Point[] = []
  return {
    push(point) {
      // Age decides and not the count, because a sleep leaves a gap. What lies after `point` was written before the
      // clock was set back and would draw the line backwards.
      const oldest = point.t - (capacity - 1) * step
      points = [...points.filter((p) => p.t >= oldest && p.t < point.t), point]
    },
    points: () => points,
  }
}
