import { expect, test } from 'vitest'
import type { Snapshot } from '../contract.ts'
import { DEFAULT_SETTINGS, publicSettings } from './settings.ts'
import { curlText, reportText } from './texts.ts'

const snapshot: Snapshot = {
  version: '1.0.0',
  phase: 'ready',
  since: 0,
  checkpoint: 'english',
  checkpoints: [],
  device: {
    requested: 'auto',
    requireDevice: false,
    active: 'unproven',
    engine: 'coreml',
    precision: 'float16',
    proof: [],
    why: 'Core ML was not timed against the CPU.',
    parity: { passed: true, maxDifference: 0.00412, flips: 0, cases: 60, at: 0 },
  },
  load: {
    inFlight: 0,
    queued: 0,
    capacity: 32,
    served: 7,
    refused: 1,
    failed: 0,
    abandoned: 0,
    truncated: 0,
  },
  latency: { p50: 8.42, p95: 120.4, p99: 0, minutes2: [], hour: [], marks: [] },
  host: { rssMb: 410.2, thermal: 'nominal', onBattery: false, chip: 'Apple M2', os: 'macOS 15.5 (24F74)' },
  recents: [],
  notices: [],
  settings: publicSettings({ ...DEFAULT_SETTINGS, token: 'hunter2', hubEndpoint: null }),
  logs: [],
}

test('the curl line is one request that a shell reads as it stands', () => {
  const text = curlText('http://127.0.0.1:5292/')
  const body = /-d '([^']*)'$/.exec(text)?.[1]
  expect(text).toContain('curl -s http://127.0.0.1:5292/v1/systemone \\\n')
  expect(JSON.parse(body!)).toHaveProperty('questions.team.type', 'choice')
})

test('the report says what a helper needs to know', () => {
  const error = { code: 'port_in_use', sentence: 'Port 5292 is in use | by\nDocker.' }
  const text = reportText({ ...snapshot, error })
  expect(text).toContain('| Chip | Apple M2 |')
  expect(text).toContain('| Device | Core ML (device not proven), float16 |')
  expect(text).toContain('| Proof | none |')
  expect(text).toContain('| Parity | passed: 60 questions, 0 flips, largest difference 0.0041 |')
  expect(text).toContain('| Latency | p50 8.4 ms, p95 120 ms, p99 – |')
  expect(text).toContain('| Last problem | port_in_use: Port 5292 is in use \\| by Docker. |')
})

test('no name of a user and no token, however they got in', () => {
  const logs = [
    { at: 0, level: 'error' as const, text: 'cannot read /Users/ada.l/Library/x and /home/ada/y', id: 'r1' },
    { at: 0, level: 'info' as const, text: '```' },
  ]
  const text = reportText({ ...snapshot, logs })
  expect(text).not.toMatch(/ada|hunter2/)
  expect(text).toContain('1970-01-01T00:00:00.000Z error r1 cannot read ~/Library/x and ~/y')
  expect(text.match(/```/g)).toHaveLength(2)
})

test('the last fifty lines', () => {
  const logs = Array.from({ length: 80 }, (_, n) => ({ at: 0, level: 'info' as const, text: `line ${n}.` }))
  const text = reportText({ ...snapshot, logs })
  expect(text).not.toContain('line 29.')
  expect(text).toContain('line 30.')
  expect(text).toContain('line 79.')
})
