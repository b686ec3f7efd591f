import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { createRandom } from './random.ts'
import { round4, softmax, sum8 } from './softmax.ts'

const inPython = (program: string, input: unknown): unknown =>
  JSON.parse(
    spawnSync('python3', ['-c', program], {
      input: JSON.stringify(input),
      maxBuffer: 1 << 28,
    }).stdout.toString(),
  )
const hasPython = spawnSync('python3', ['--version']).status === 0
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0

describe('round4', () => {
  it.each([
    [0.03125, 0.0312],
    [0.09375, 0.0938],
    [1.03125, 1.0312],
    [30.96875, 30.9688],
    [0.5, 0.5],
    [0.00005, 0.0001],
    [0.00015, 0.0001],
    [0.99995, 1],
    [2.675, 2.675],
    [0, 0],
    [31, 31],
  ])('of %d is %d', (x, rounded) => {
    expect(round4(x)).toBe(rounded)
  })

  it.skipIf(!hasPython)('equals Python on random numbers, float32 numbers and all ties', () => {
    const random = createRandom(5)
    const numbers = [
      ...Array.from({ length: 20_000 }, () => random.next()),
      ...Array.from({ length: 20_000 }, () => Math.fround(random.next())),
      ...Array.from({ length: 5000 }, () => random.next() * 31),
      ...Array.from({ length: 5000 }, () => (random.integer(10_000) + 0.5) / 10_000),
      ...Array.from({ length: 1024 }, (_, part) => part / 32),
    ]
    const program = 'import json,sys\nprint(json.dumps([round(x, 4) for x in json.load(sys.stdin)]))'
    expect(numbers.map(round4)).toEqual(inPython(program, numbers))
  })
})

describe('sum8', () => {
  it('adds in lanes of eight', () => {
    // 2^24 swallows a lone 1, so every order of addition gives another sum.
    const big = 2 ** 24
    expect(sum8(Float32Array.from([big, 1, 1]))).toBe(big)
    expect(sum8(Float32Array.from([1, 1, big]))).toBe(big + 2)
    expect(sum8(Float32Array.from([big, 0, 1, 0, 1, 0, 0, 0]))).toBe(big)
    // Lanes give 2^24 + 2; the rest, one by one, ends on a tie that goes to the even neighbour.
    expect(sum8(Float32Array.from([big, 0, 0, 0, 1, 0, 1, 0, 0, 1]))).toBe(big + 4)
    expect(sum8(new Float32Array(0))).toBe(0)
  })

  it.skipIf(!hasNumpy)('equals NumPy bit for bit at every length', () => {
    const random = createRandom(9)
    const lists = Array.from({ length: 600 }, (_, length) =>
      Array.from({ length }, () => Math.fround(random.next() * 10 ** random.integer(6))),
    )
    const program =
      'import json,sys,numpy as n\nprint(json.dumps([float(n.sum(n.array(x, n.float32))) for x in json.load(sys.stdin)]))'
    expect(lists.map((list) => sum8(Float32Array.from(list)))).toEqual(inPython(program, lists))
  })
})

describe('softmax', () => {
  it('is finite and sums to one at any size of the logits', () => {
    for (const logits of [[1e30, -1e30], [-1e30, -1e30, -1e30], [0], [88, 89, 90]]) {
      const p = softmax(logits)
      expect(p.every(Number.isFinite)).toBe(true)
      expect(Math.abs(sum8(p) - 1)).toBeLessThan(1e-6)
    }
  })

  it('divides by the temperature first', () => {
    const [cold, warm] = [softmax([0, 1], 0.5), softmax([0, 1], 5)]
    expect(round4(cold[1]!)).toBe(0.8808)
    expect(round4(warm[1]!)).toBe(0.5498)
  })
})
