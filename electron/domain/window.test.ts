import { expect, test } from 'vitest'
import type { Point } from '../contract.ts'
import { BUCKET_SECONDS, createWindow } from './window.ts'

const point = (t: number, rps = 0): Point => ({ t, rps, p50: 0, p95: 0, p99: 0, max: 0, depth: 0, rssMb: 0 })

test('two minutes of seconds, one hour of buckets, oldest first', () => {
  const window = createWindow()
  for (let t = 1; t <= 500; t++) window.second(point(t))
  for (let n = 1; n <= 200; n++) window.bucket(point(n * BUCKET_SECONDS))
  expect(window.minutes2()).toHaveLength(120)
  expect(window.minutes2()[0]!.t).toBe(381)
  expect(window.minutes2().at(-1)!.t).toBe(500)
  expect(window.hour()).toHaveLength(120)
  expect(window.hour().at(-1)!.t - window.hour()[0]!.t).toBe(3600 - BUCKET_SECONDS)
})

test('after a sleep only what is younger than two minutes is left', () => {
  const window = createWindow()
  for (let t = 1; t <= 100; t++) window.second(point(t))
  window.second(point(180))
  expect(window.minutes2().map((p) => p.t)).toEqual([...Array.from({ length: 40 }, (_, n) => 61 + n), 180])
  window.second(point(10_000))
  expect(window.minutes2().map((p) => p.t)).toEqual([10_000])
})

test('a clock set back never makes time run backwards', () => {
  const window = createWindow()
  for (let t = 100; t <= 110; t++) window.second(point(t, 1))
  window.second(point(105, 2))
  const times = window.minutes2().map((p) => p.t)
  expect(times).toEqual([100, 101, 102, 103, 104, 105])
  expect(window.minutes2().at(-1)!.rps).toBe(2)
})

test('the lists given out are not changed afterwards', () => {
  const window = createWindow()
  for (let t = 1; t <= 120; t++) window.second(point(t))
  const given = window.minutes2()
  window.second(point(121))
  expect(given.map((p) => p.t)).toEqual(Array.from({ length: 120 }, (_, n) => n + 1))
})
