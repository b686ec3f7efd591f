import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import type { Mark, Point } from '../contract.ts'
import { BUCKET_SECONDS, createWindow } from '../domain/window.ts'

/** How one request to a decision route ended. Every early return records too. Times in ms. */
export interface RequestRecord {
  route: 'systemone' | 'batch'
  /** `null` when it was refused before its model name was read. */
  dialect: 'laya' | 'jev' | null
  /** HTTP status; 499 when the caller went away. */
  status: number
  /** Code of the problem; `null` for an answer. */
  code: string | null
  questions: { choice: number; score: number; noul: number }
  /** `null` when it never waited. */
  queueMs: number | null
  /** Tokenise, forward and decode; `null` when no inference ran. */
  inferMs: number | null
  /** From complete headers to the last byte handed over. */
  totalMs: number
  inputTokens: number
  paddingTokens: number
  passes: number
  rows: number
  truncated: boolean
}

/** Upper bounds in seconds, 1 ms to 10 s (http-api.md 9.4). */
export const BUCKET_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A histogram as Prometheus counts: `counts[i]` are the values up to `BUCKET_BOUNDS[i]`, not cumulative. */
export interface SecondsHistogram {
  counts: number[]
  count: number
  sum: number
}

/** Totals since the process started. Labels come from closed sets only. */
export interface Counters {
  requests: Map<string, { labels: RequestLabels; count: number }>
  questions: { choice: number; score: number; noul: number }
  requestSeconds: SecondsHistogram
  inferenceSeconds: SecondsHistogram
  queueWaitSeconds: SecondsHistogram
  inputTokens: number
  paddingTokens: number
  passes: number
  rows: number
  served: number
  refused: number
  failed: number
  abandoned: number
  truncated: number
  engineRestarts: number
  engineFallbacks: Map<string, { from: string; to: string; count: number }>
}

export interface RequestLabels {
  route: string
  dialect: string
  status: string
  code: string
}

export interface Percentiles {
  p50: number
  p95: number
  p99: number
}

export interface Telemetry {
  record(request: RequestRecord): void
  /** The queue's length changed: the charts show the deepest of each second. */
  observeDepth(depth: number): void
  engineRestarted(): void
  engineFellBack(from: string, to: string): void
  /** A vertical line on the charts: another checkpoint, engine or power state. */
  mark(label: string): void
  /** Closes the second that ends now. Called once a second. */
  tick(gauges: { depth: number; rssMb: number }): void
  readonly counters: Counters
  minutes2(): Point[]
  hour(): Point[]
  marks(): Mark[]
  /** Latency of answers over the last two minutes, in ms; zeros without any. */
  recent(): Percentiles
  /** Epoch milliseconds of the last decision request, or of the creation. */
  lastRequestAt(): number
}

const HOUR_MS = 3_600_000
/** Histograms keep microseconds: three figures of a 20 µs answer are still told apart. */
const PER_MS = 1000
const options = { lowest: 1, highest: 120_000 * PER_MS, figures: 3 }

/**
 * Latency in HdrHistograms of core: one for the running second, and a ring of 30-second ones whose sum is "the last
 * two minutes", so that percentiles always come from samples and never from other percentiles.
 */
export function createTelemetry({ now }: { now: () => number }): Telemetry {
  const window = createWindow()
  const second = createHistogram(options)
  const buckets = Array.from({ length: 5 }, () => createHistogram(options))
  const merged = createHistogram(options)
  const counters = createCounters()
  let marks: Mark[] = []
  let requests = 0
  let bucketRequests = 0
  let depth = 0
  let bucketDepth = 0
  let bucketRss = 0
  let bucketStart = now()
  let lastRequest = now()
  let stale = true
  let latest: Percentiles = { p50: 0, p95: 0, p99: 0 }

  return {
    counters,
    record(request) {
      count(counters, request)
      lastRequest = now()
      requests++
      if (request.status !== 200) return
      const value = Math.min(options.highest, Math.max(1, Math.round(request.totalMs * PER_MS)))
      second.record(value)
      buckets[0]!.record(value)
      stale = true
    },
    observeDepth(value) {
      depth = Math.max(depth, value)
    },
    engineRestarted() {
      counters.engineRestarts++
    },
    engineFellBack(from, to) {
      const entry = counters.engineFallbacks.get(`${from} ${to}`) ?? { from, to, count: 0 }
      entry.count++
      counters.engineFallbacks.set(`${from} ${to}`, entry)
    },
    mark(label) {
      const t = Math.floor(now() / 1000)
      marks = [...marks.filter((mark) => mark.t * 1000 > now() - HOUR_MS), { t, label }]
    },
    tick(gauges) {
      const t = Math.floor(now() / 1000)
      depth = Math.max(depth, gauges.depth)
      window.second(point(t, requests, second, depth, gauges.rssMb))
      bucketRequests += requests
      bucketDepth = Math.max(bucketDepth, depth)
      bucketRss = Math.max(bucketRss, gauges.rssMb)
      if (second.count > 0) second.reset()
      requests = 0
      depth = gauges.depth
      if (now() - bucketStart >= BUCKET_SECONDS * 1000) turnBucket(t)
    },
    minutes2: window.minutes2,
    hour: window.hour,
    marks: () => marks,
    recent() {
      if (stale) {
        merged.reset()
        for (const bucket of buckets) if (bucket.count > 0) merged.add(bucket)
        latest = percentiles(merged)
        stale = false
      }
      return latest
    },
    lastRequestAt: () => lastRequest,
  }

  function turnBucket(t: number): void {
    window.bucket(point(t, bucketRequests / BUCKET_SECONDS, buckets[0]!, bucketDepth, bucketRss))
    const oldest = buckets.pop()!
    if (oldest.count > 0) {
      oldest.reset()
      stale = true
    }
    buckets.unshift(oldest)
    bucketRequests = 0
    bucketDepth = 0
    bucketRss = 0
    bucketStart = now()
  }
}

function point(t: number, rps: number, histogram: RecordableHistogram, depth: number, rssMb: number): Point {
  const max = histogram.count === 0 ? 0 : histogram.max / PER_MS
  return { t, rps: Math.round(rps * 100) / 100, ...percentiles(histogram), max, depth, rssMb }
}

function percentiles(histogram: RecordableHistogram): Percentiles {
  if (histogram.count === 0) return { p50: 0, p95: 0, p99: 0 }
  const at = (p: number) => histogram.percentile(p) / PER_MS
  return { p50: at(50), p95: at(95), p99: at(99) }
}

function createCounters(): Counters {
  const histogram = (): SecondsHistogram => ({ counts: BUCKET_BOUNDS.map(() => 0), count: 0, sum: 0 })
  return {
    requests: new Map(),
    questions: { choice: 0, score: 0, noul: 0 },
    requestSeconds: histogram(),
    inferenceSeconds: histogram(),
    queueWaitSeconds: histogram(),
    inputTokens: 0,
    paddingTokens: 0,
    passes: 0,
    rows: 0,
    served: 0,
    refused: 0,
    failed: 0,
    abandoned: 0,
    truncated: 0,
    engineRestarts: 0,
    engineFallbacks: new Map(),
  }
}

function count(counters: Counters, request: RequestRecord): void {
  const labels = {
    route: request.route,
    dialect: request.dialect ?? 'none',
    status: String(request.status),
    code: request.code ?? 'none',
  }
  const key = Object.values(labels).join(' ')
  const entry = counters.requests.get(key) ?? { labels, count: 0 }
  entry.count++
  counters.requests.set(key, entry)
  if (request.status === 200) counters.served++
  else if (request.status === 499) counters.abandoned++
  // 503 is the server's own doing, but a refusal: nothing failed that a retry would not answer.
  else if (request.status < 500 || request.status === 503) counters.refused++
  else counters.failed++
  for (const type of ['choice', 'score', 'noul'] as const) counters.questions[type] += request.questions[type]
  observe(counters.requestSeconds, request.totalMs)
  if (request.inferMs !== null) observe(counters.inferenceSeconds, request.inferMs)
  if (request.queueMs !== null) observe(counters.queueWaitSeconds, request.queueMs)
  counters.inputTokens += request.inputTokens
  counters.paddingTokens += request.paddingTokens
  counters.passes += request.passes
  counters.rows += request.rows
  if (request.truncated) counters.truncated++
}

function observe(histogram: SecondsHistogram, ms: number): void {
  const seconds = ms / 1000
  histogram.count++
  histogram.sum += seconds
  const index = BUCKET_BOUNDS.findIndex((bound) => seconds <= bound)
  if (index >= 0) histogram.counts[index]!++
}
