/**
 * Sum of float32 values in NumPy's order of addition, rounded to float32 after every step. The order is part of the
 * published numbers: a plain sum from left to right misses one of them in the fourth decimal.
 */
export function sum8(x: Float32Array): number {
  if (x.length > 128) {
    const half = Math.floor(x.length / 2)
    const middle = half - (half % 8)
    return Math.fround(sum8(x.subarray(0, middle)) + sum8(x.subarray(middle)))
  }
  const whole = x.length - (x.length % 8)
  let total = 0
  if (whole > 0) {
    const lanes = x.slice(0, 8)
    // A Float32Array rounds at every store.
    for (let index = 8; index < whole; index++) lanes[index % 8]! += x[index]!
    const pair = (left: number): number => Math.fround(lanes[left]! + lanes[left + 1]!)
    total = Math.fround(Math.fround(pair(0) + pair(2)) + Math.fround(pair(4) + pair(6)))
  }
  for (let index = whole; index < x.length; index++) total = Math.fround(total + x[index]!)
  return total
}

/** softmax(logits / temperature), every step in float32 as the reference computes it. */
export function softmax(logits: ArrayLike<number>, temperature = 1): Float32Array {
  const scaled = Float32Array.from(logits, (logit) => Math.fround(logit) / Math.fround(temperature))
  const largest = scaled.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const exponentials = scaled.map((value) => Math.exp(Math.fround(value - largest)))
  const total = sum8(exponentials)
  return exponentials.map((value) => value / total)
}

/**
 * The exact value of `x` rounded to four decimals, ties to even, as Python's `round(x, 4)`. Only odd multiples of
 * 1/32 are exact ties; everywhere else `toFixed` is exact.
 */
export function round4(x: number): number {
  const parts = x * 32
  if (!Number.isInteger(parts) || parts % 2 === 0) return Number(x.toFixed(4))
  const below = Math.floor(x * 10000)
  return (below % 2 === 0 ? below : below + 1) / 10000
}
