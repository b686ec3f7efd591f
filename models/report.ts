import { createMeter, type Progress } from './meter.ts'

const REPORT_MS = 250

export type Stage = 'downloading' | 'copying' | 'verifying'

export interface ReportOptions {
  /** Called a few times a second, and at the end of each stage. */
  onProgress?: (stage: Stage, progress: Progress) => void
  now?: () => number
}

export interface Reporter {
  add(stage: Stage, bytes: number): void
  /** Counts bytes that were there before. */
  skip(bytes: number): void
}

/** Counts bytes and reports them, at most every quarter of a second. */
export function createReporter(total: number, { onProgress, now = Date.now }: ReportOptions): Reporter {
  const meter = createMeter(total, now)
  let last = Number.NEGATIVE_INFINITY
  return {
    add(stage, bytes) {
      meter.add(bytes)
      const progress = meter.read()
      if (now() - last < REPORT_MS && progress.done < total) return
      last = now()
      onProgress?.(stage, progress)
    },
    skip: (bytes) => meter.skip(bytes),
  }
}

/** The same for a scan that counts by itself. */
export function reportScan(options: ReportOptions): (done: number, total: number) => void {
  let reporter: Reporter | undefined
  let before = 0
  return (done, total) => {
    reporter ??= createReporter(total, options)
    reporter.add('verifying', done - before)
    before = done
  }
}
