import { expect, test } from 'vitest'
import { createRandom } from '../../models/random.ts'
import { createTelemetry, type RequestRecord } from './telemetry.ts'

const answer = (totalMs: number, rest: Partial<RequestRecord> = {}): RequestRecord => ({
  route: 'systemone',
  dialect: 'laya',
  status: 200,
  code: null,
  questions: { choice: 1, score: 0, noul: 0 },
  queueMs: 0.5,
  inferMs: totalMs - 1,
  totalMs,
  inputTokens: 50,
  paddingTokens: 0,
  passes: 1,
  rows: 1,
  truncated: false,
  ...rest,
})

function setup() {
  let time = 1_000_000_000
  const telemetry = createTelemetry({ now: () => time })
  const second = (depth = 0) => {
    time += 1000
    telemetry.tick({ depth, rssMb: 100 })
  }
  return { telemetry, second, time: () => time }
}

test('percentiles of a second agree with the sorted samples, to three figures', () => {
  const { telemetry, second } = setup()
  const random = createRandom(7)
  const samples = Array.from({ length: 1000 }, () => 1 + random.next() * 200)
  for (const sample of samples) telemetry.record(answer(sample))
  second()
  const sorted = samples.sort((a, b) => a - b)
  const point = telemetry.minutes2().at(-1)!
  for (const [name, q] of [
    ['p50', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const exact = sorted[Math.ceil(q * 1000) - 1]!
    expect(Math.abs(point[name] - exact) / exact).toBeLessThan(0.002)
  }
  expect(point.rps).toBe(1000)
  expect(Math.abs(point.max - sorted.at(-1)!)).toBeLessThan(0.3)
  second()
  expect(telemetry.minutes2().at(-1)).toMatchObject({ rps: 0, p50: 0, p99: 0, max: 0 })
})

test('the hour keeps the percentiles of all samples of its half minute', () => {
  const { telemetry, second } = setup()
  for (let n = 0; n < 30; n++) {
    // One slow second among fast ones: a mean of the seconds' medians would hide it.
    for (let k = 0; k < 10; k++) telemetry.record(answer(n === 15 ? 500 : 5))
    second(n === 3 ? 7 : 0)
  }
  expect(telemetry.hour()).toHaveLength(1)
  const bucket = telemetry.hour()[0]!
  expect(bucket.rps).toBe(10)
  expect(bucket.p50).toBeCloseTo(5, 1)
  expect(bucket.p95).toBeCloseTo(5, 1)
  expect(bucket.p99).toBeGreaterThan(499)
  expect(bucket.depth).toBe(7)
})

test('recent percentiles forget what is older than about two minutes', () => {
  const { telemetry, second } = setup()
  telemetry.record(answer(900))
  expect(telemetry.recent().p50).toBeGreaterThan(890)
  for (let n = 0; n < 60; n++) second()
  expect(telemetry.recent().p50).toBeGreaterThan(890)
  for (let n = 0; n < 120; n++) second()
  expect(telemetry.recent()).toEqual({ p50: 0, p95: 0, p99: 0 })
})

test('refused, failed and abandoned requests are counted and keep out of the latencies', () => {
  const { telemetry, second } = setup()
  telemetry.record(answer(10, { truncated: true }))
  telemetry.record(answer(5000, { status: 422, code: 'invalid_question', inferMs: null, queueMs: null }))
  telemetry.record(answer(5000, { status: 503, code: 'overloaded', inferMs: null }))
  telemetry.record(answer(5000, { status: 500, code: 'inference_failed' }))
  telemetry.record(answer(5000, { status: 504, code: 'inference_timeout' }))
  telemetry.record(answer(5000, { status: 499, code: null }))
  second()
  expect(telemetry.counters).toMatchObject({ served: 1, refused: 2, failed: 2, abandoned: 1, truncated: 1 })
  expect(telemetry.minutes2().at(-1)).toMatchObject({ rps: 6 })
  expect(telemetry.minutes2().at(-1)!.max).toBeLessThan(11)
  expect(
    [...telemetry.counters.requests.values()].map((r) => [r.labels.status, r.labels.code, r.count]),
  ).toEqual([
    ['200', 'none', 1],
    ['422', 'invalid_question', 1],
    ['503', 'overloaded', 1],
    ['500', 'inference_failed', 1],
    ['504', 'inference_timeout', 1],
    ['499', 'none', 1],
  ])
  expect(telemetry.counters.requestSeconds.count).toBe(6)
  expect(telemetry.counters.inferenceSeconds.count).toBe(4)
  expect(telemetry.counters.requestSeconds.counts.reduce((a, b) => a + b)).toBe(6)
})

test('the deepest queue of a second is shown, and the next second begins at the present depth', () => {
  const { telemetry, second } = setup()
  telemetry.observeDepth(3)
  telemetry.observeDepth(1)
  second(1)
  second(0)
  second(0)
  expect(telemetry.minutes2().map((p) => p.depth)).toEqual([3, 1, 0])
})

test('marks older than an hour go', () => {
  const { telemetry, second } = setup()
  telemetry.mark('CPU')
  for (let n = 0; n < 3601; n++) second()
  telemetry.mark('GPU (Core ML)')
  expect(telemetry.marks().map((m) => m.label)).toEqual(['GPU (Core ML)'])
})
