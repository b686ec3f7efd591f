import type { CheckpointState, Snapshot } from '../contract.ts'
import { DEFAULT_SETTINGS, publicSettings } from '../domain/settings.ts'

/** A Snapshot of a service that runs well, for tests to vary. */
export function sampleSnapshot(patch: Partial<Snapshot> = {}): Snapshot {
  return {
    version: '1.0.0',
    phase: 'ready',
    since: 1_000,
    endpoint: { url: 'http://127.0.0.1:5292', port: 5292, bound: ['127.0.0.1', '::1'] },
    checkpoint: 'english',
    checkpoints: [
      sampleCheckpoint({ name: 'laya-demo', demo: true, state: 'installed' }),
      sampleCheckpoint({ name: 'english', state: 'resident' }),
      sampleCheckpoint({ name: 'multilingual', state: 'available', bytes: 644_000_000 }),
    ],
    device: {
      requested: 'auto',
      requireDevice: false,
      active: 'gpu',
      engine: 'coreml-native',
      precision: 'float16',
      proof: ['assignment', 'plan', 'probe'],
      why: 'Core ML holds every node and takes 0.41 of the time of the CPU.',
    },
    load: {
      inFlight: 0,
      queued: 0,
      capacity: 32,
      served: 10,
      refused: 0,
      failed: 0,
      abandoned: 0,
      truncated: 0,
    },
    latency: { p50: 8.42, p95: 11, p99: 14, minutes2: [], hour: [], marks: [] },
    host: { rssMb: 410, thermal: 'nominal', onBattery: false, chip: 'Apple M2', os: 'macOS 15.5 (24F74)' },
    recents: [],
    notices: [],
    settings: publicSettings(DEFAULT_SETTINGS),
    logs: [],
    ...patch,
  }
}

export function sampleCheckpoint(patch: Partial<CheckpointState>): CheckpointState {
  return {
    name: 'english',
    title: 'Laya English',
    state: 'installed',
    demo: false,
    bytes: 843_000_000,
    bytesOnDisk: 843_000_000,
    revision: null,
    licence: 'Apache-2.0',
    languages: 'English',
    maxLen: 512,
    weaknesses: [],
    ...patch,
  }
}
