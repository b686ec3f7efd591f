const widened = createWideningTable()
const scratch = new Float32Array(1)
const scratchBits = new Uint32Array(scratch.buffer)

/** The float32 value of a float16 bit pattern. Exact. */
export function fromFloat16(bits: number): number {
  return widened[bits] as number
}

/** Widens float16 bit patterns. Exact; `target` holds at least as many elements as `source`. */
export function widenFloat16(source: Uint16Array, target: Float32Array): void {
  for (let i = 0; i < source.length; i++) target[i] = widened[source[i] as number] as number
}

/** Widens bfloat16 bit patterns: they are the upper half of a float32. Exact. */
export function widenBfloat16(source: Uint16Array, target: Float32Array): void {
  const bits = new Uint32Array(target.buffer, target.byteOffset, source.length)
  for (let i = 0; i < source.length; i++) bits[i] = (source[i] as number) << 16
}

/** The float16 bit pattern nearest to a number, ties to even. Beyond 65519.99 it is an infinity. */
export function toFloat16(value: number): number {
  scratch[0] = value
  const bits = scratchBits[0] as number
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  // Subnormal float16: the unit is 2^-24, and Math.round would break ties upwards.
  if (magnitude < 0x38800000) return sign | roundHalfEven(Math.abs(scratch[0] as number) * 2 ** 24)
  const kept = (magnitude - 0x38000000) >>> 13
  const rest = magnitude & 0x1fff
  return sign | (kept + (rest > 0x1000 || (rest === 0x1000 && (kept & 1) === 1) ? 1 : 0))
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0)
}

function createWideningTable(): Float32Array {
  const table = new Float32Array(65536)
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1
    const exponent = (bits >> 10) & 31
    const fraction = bits & 1023
    if (exponent === 31) table[bits] = fraction === 0 ? sign * Infinity : Number.NaN
    else if (exponent === 0) table[bits] = sign * fraction * 2 ** -24
    else table[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  return table
}
