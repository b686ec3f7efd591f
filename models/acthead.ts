import { readTensor, type SafetensorsHeader } from './safetensors.ts'

/**
 * The act head: whether the decision should be acted on.
 * @param hidden the row's [CLS] vector [D] after the decision head.
 * @param logits the row's marker logits, unmasked and without temperature.
 * @returns act logits [classes].
 */
export type ActHead = (hidden: Float32Array, logits: Float32Array) => Float32Array

/** Reads the head's weights, widened to float32 (about 1 MB). Throws LayaError `checkpoint_unusable`. */
export function createActHead(header: SafetensorsHeader): ActHead {
  const first = {
    weight: readTensor(header, 'act_head.0.weight'),
    bias: readTensor(header, 'act_head.0.bias'),
  }
  const second = {
    weight: readTensor(header, 'act_head.2.weight'),
    bias: readTensor(header, 'act_head.2.bias'),
  }
  return (hidden, logits) => {
    const input = new Float32Array(hidden.length + 4)
    input.set(hidden)
    input.set(describe(logits), hidden.length)
    return linear(linear(input, first).map(gelu), second)
  }
}

/** Highest probability, its lead, normalised entropy and relative number of options: p1, p1 - p2, H/ln k, k/255. */
function describe(logits: Float32Array): number[] {
  const options = Math.max(2, logits.length)
  const top = logits.reduce((a, b) => Math.max(a, b))
  const weights = Array.from(logits, (logit) => Math.exp(logit - top))
  const sum = weights.reduce((a, b) => a + b)
  const shares = weights.map((weight) => weight / sum)
  const [p1 = 0, p2 = 0] = shares.toSorted((a, b) => b - a)
  const entropy = -shares.reduce((total, p) => total + p * Math.log(Math.max(p, 1e-9)), 0)
  return [p1, p1 - p2, entropy / Math.log(options), options / 255]
}

function linear(
  x: Float32Array,
  { weight, bias }: { weight: Float32Array; bias: Float32Array },
): Float32Array {
  return bias.map((offset, row) => {
    let sum = offset
    const base = row * x.length
    for (let i = 0; i < x.length; i++) sum += weight[base + i]! * x[i]!
    return sum
  })
}

function gelu(x: number): number {
  return 0.5 * x * (1 + erf(x / Math.SQRT2))
}

/**
 * erf to about 1e-15, by the series 2/√π · e^(-x²) · Σ 2ⁿ·x^(2n+1) / (1·3·…·(2n+1)), whose terms all have one sign.
 * The usual five-term approximation (1.5e-7) is too coarse beside act logits of several thousand.
 */
export function erf(x: number): number {
  // erfc(6) is 2e-17.
  if (Math.abs(x) > 6) return Math.sign(x)
  let term = x
  let sum = x
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1)
    sum += term
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum
}
