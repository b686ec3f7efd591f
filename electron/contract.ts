/**
 * Types that cross a border between processes or worlds, and the names of the channels they travel on.
 * The only file that both the renderer and the Node programs import. Types and constants only.
 */

export type Phase =
  | 'stopped'
  | 'starting'
  | 'loading'
  | 'warming'
  | 'ready'
  | 'switching'
  /** Serving, with nothing resident: unloaded by the user or after being idle. A request may load it again. */
  | 'unloaded'
  | 'draining'
  | 'stopping'
  | 'failed'

export type EngineName = 'cpu' | 'coreml' | 'coreml-native' | 'webgpu'
export type Precision = 'float32' | 'float16' | 'int8'
/** Where the last run really happened. `unproven`: an accelerator engine ran it and no proof of the device exists. */
export type Device = 'cpu' | 'gpu' | 'ane' | 'unproven'
export type Proof = 'assignment' | 'profile' | 'plan' | 'probe'
export type Thermal = 'nominal' | 'fair' | 'serious' | 'critical' | 'unknown'

/** A sentence for people, a code for programs, and the next step. */
export interface Problem {
  code: string
  sentence: string
  hint?: string
  /** The next step in one click: what its button says and does ("Use port 5293"). */
  remedy?: { label: string; command: Command }
}

export interface ParityVerdict {
  passed: boolean
  /** Largest absolute probability difference against cpu-fp32 of the same checkpoint. */
  maxDifference: number
  /** Changed decisions outside near ties. */
  flips: number
  cases: number
  /** Epoch milliseconds. */
  at: number
}

export interface DeviceReport {
  requested: 'auto' | EngineName
  requireDevice: boolean
  active: Device
  engine: EngineName
  precision: Precision
  /** Empty when `active` is `unproven`. */
  proof: Proof[]
  /** One sentence for people. */
  why: string
  partitions?: number
  /** Share of graph nodes the execution provider took, 0..1. */
  nodeShare?: number
  compileMs?: number
  cacheHit?: boolean
  parity?: ParityVerdict
  /** Every engine that was considered, with its verdict. */
  candidates?: EngineVerdict[]
}

export interface EngineVerdict {
  engine: EngineName
  precision: Precision
  state: 'unavailable' | 'untried' | 'checking' | 'passed' | 'failed' | 'active'
  /** Median milliseconds of one short question, when it was timed. */
  p50?: number
  parity?: ParityVerdict
  reason?: string
}

export interface CheckpointState {
  name: string
  title: string
  state:
    | 'available'
    | 'downloading'
    | 'paused'
    | 'verifying'
    | 'preparing'
    | 'installed'
    | 'loading'
    | 'resident'
    | 'broken'
  demo: boolean
  /** Bytes of the download. */
  bytes: number
  /** Bytes on disk of everything we wrote for it: files, graphs, side files, compile cache. */
  bytesOnDisk: number
  revision: string | null
  licence: string
  languages: string
  maxLen: number
  weaknesses: string[]
  /** Where a copy was found that can be used without a download, in words ("Hugging Face cache"). */
  found?: string
  progress?: { done: number; total: number; perSecond: number; etaMs: number | null }
  error?: Problem
}

/** One second (or, in the hour's list, one 30-second bucket) of traffic. Latencies in ms. */
export interface Point {
  /** Epoch seconds. */
  t: number
  rps: number
  p50: number
  p95: number
  p99: number
  max: number
  depth: number
  rssMb: number
}

export interface Recent {
  id: string
  /** Epoch milliseconds. */
  at: number
  dialect: 'laya' | 'jev'
  checkpoint: string
  status: number
  code?: string
  questions: { id: string; type: 'choice' | 'score' | 'noul'; top: string; probability: number }[]
  totalMs: number
  inferMs: number
  inputTokens: number
  tokensDropped: number
}

export interface Notice {
  id: string
  level: 'info' | 'warning' | 'error'
  sentence: string
  hint?: string
  at: number
}

/** What the user can set. The token itself never leaves the service: `tokenSet` says whether there is one. */
export interface Settings {
  serveAtStart: boolean
  openAtLogin: boolean
  port: number
  tokenSet: boolean
  allowedOrigins: string[]
  queueCapacity: number
  overflow: 'truncate' | 'reject'
  /** 0 = never. */
  idleUnloadSeconds: number
  keepWarm: boolean
  engine: 'auto' | EngineName
  requireDevice: boolean
  checkpoint: string
  loadOnDemand: boolean
  secondResident: boolean
  /** Ceiling for all resident checkpoints together. 0 = half of this machine's memory. */
  memoryLimitMb: number
  hubEndpoint: string | null
  proxy: string | null
  offline: boolean
  checkpointFolders: string[]
  appearance: 'system' | 'light' | 'dark'
  logLevel: 'debug' | 'info' | 'warn' | 'error'
  updateCheck: boolean
  firstRunDone: boolean
}
export type SettingsPatch = Partial<Omit<Settings, 'tokenSet'>> & { token?: string | null }

export interface BenchmarkSummary {
  verdict: string
  /** The sentence under the verdict, stamps and gates in words. */
  notes: string[]
  rows: {
    workload: string
    p50: number
    p95: number | null
    httpMs: number
    engine: EngineName
    device: Device
  }[]
  agreement: { same: number; of: number; maxDifference: number }
  memoryMb: number
  startedAt: number
  folder: string
}

export interface BenchmarkState {
  state: 'running' | 'done' | 'failed' | 'cancelled'
  step: string
  percent: number
  etaMs?: number | null
  error?: Problem
  summary?: BenchmarkSummary
  previous?: BenchmarkSummary[]
}

export interface LogLine {
  at: number
  level: 'debug' | 'info' | 'warn' | 'error'
  text: string
  id?: string
}

/** Everything the panel can show. Whole, small (a few KB), replaced at every push; never a patch. */
export interface Snapshot {
  version: string
  phase: Phase
  /** Epoch milliseconds at which `phase` began. */
  since: number
  /** "Warming up: 2 of 5 shapes" */
  progress?: string
  error?: Problem
  endpoint?: { url: string; port: number; bound: string[] }
  checkpoint?: string
  checkpoints: CheckpointState[]
  device?: DeviceReport
  load: {
    inFlight: number
    queued: number
    capacity: number
    served: number
    refused: number
    failed: number
    abandoned: number
    truncated: number
  }
  latency: { p50: number; p95: number; p99: number; minutes2: Point[]; hour: Point[]; marks: Mark[] }
  host: { rssMb: number; thermal: Thermal; onBattery: boolean; chip: string; os: string }
  recents: Recent[]
  notices: Notice[]
  settings: Settings
  benchmark?: BenchmarkState
  logs: LogLine[]
}

/** A vertical line on the charts' time axis. */
export interface Mark {
  t: number
  label: string
}

export type Command =
  | { kind: 'start' }
  | { kind: 'stop' }
  | { kind: 'restart' }
  | { kind: 'quit' }
  | {
      kind: 'use' | 'install' | 'pause' | 'resume' | 'cancelInstall' | 'verify' | 'remove' | 'unload'
      checkpoint: string
    }
  | { kind: 'import'; folder: string; name?: string }
  /** Playground: raw JSON text of a request body, so that order survives. `data` of the result is `AskResult`. */
  | { kind: 'ask'; body: string }
  /** Token counts and fit per question, without running the model. `data` is `FitResult`. */
  | { kind: 'fit'; body: string }
  | { kind: 'recheck' }
  | { kind: 'benchmark'; mode: 'quick' | 'full'; against?: string }
  | { kind: 'cancelBenchmark' }
  | { kind: 'exportReport'; format: 'markdown' | 'folder' }
  | { kind: 'settings'; patch: SettingsPatch }
  | { kind: 'open'; what: 'logs' | 'docs' | 'reports' | 'checkpoints' }
  | { kind: 'copy'; what: 'url' | 'curl' | 'report' }
  | { kind: 'reveal'; id: string }
  | { kind: 'clearRecents' }
  | { kind: 'dismiss'; notice: string }

export type Result = { ok: true; data?: unknown } | { ok: false; error: Problem }

/** What the socket answered, so that the playground shows exactly what curl would. */
export interface AskResult {
  status: number
  /** The response body, byte for byte. */
  body: string
  requestId: string
  timing: { queueMs: number; inferMs: number; totalMs: number } | null
}

export interface FitResult {
  window: number
  questions: {
    id: string
    tokens: number
    stateTokens: number
    stateDropped: number
    instructionsCut: boolean
  }[]
}

/** `data` of the result of `reveal`: the request as it arrived. `cut`: it was too long to keep whole. */
export interface RevealResult {
  body: string
  cut: boolean
}

/** `data` of the result of `copy` and of `exportReport` as Markdown: whoever shows the panel puts it on the clipboard. */
export interface CopyResult {
  text: string
}

/** `data` of the result of `open` and of `exportReport` as a folder: whoever shows the panel opens it. */
export interface OpenResult {
  path: string
}

/** `data` of the result of `settings`: whether the service starts again to take all of it on. */
export interface SettingsResult {
  restart: boolean
}

/** The same interface over three carriers: preload IPC, HTTP + events (headless), a fake in the browser. */
export interface PanelApi {
  snapshot(): Promise<Snapshot>
  command(command: Command): Promise<Result>
  /** Returns the function that ends the subscription. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void
}

/** Shell (or headless supervisor) → service process. */
export type ToService =
  | { kind: 'command'; id: number; command: Command }
  | { kind: 'power'; thermal: Thermal; onBattery: boolean; event?: 'suspend' | 'resume' }
  /** Whether a panel looks: 1 Hz snapshots instead of 0.1 Hz. */
  | { kind: 'looking'; visible: boolean }
  | { kind: 'stop' }
  /** What a throw-away process did that the service asked for. */
  | { kind: 'trial'; id: number; did: TrialEvent }

export type TrialEvent =
  | { kind: 'message'; message: unknown }
  | { kind: 'stderr'; text: string }
  | { kind: 'exit'; code: number | null }

/** Service process → shell (or headless supervisor). */
export type FromService =
  | { kind: 'snapshot'; snapshot: Snapshot }
  | { kind: 'result'; id: number; result: Result }
  /** Sent once, before the process ends itself, when starting it again cannot help (port in use). */
  | { kind: 'fatal'; problem: Problem }
  /** Sent once, before the process ends itself over an unexpected fault: it may be started again. */
  | { kind: 'crash'; problem: Problem }
  /** Sent when an accepted inference exceeds its limit: the process cannot free itself and must be killed. */
  | { kind: 'hung'; problem: Problem }
  /** A panel served by the service itself (headless) asks for what only the parent process can do. */
  | { kind: 'asked'; command: 'start' | 'stop' | 'restart' | 'quit' }
  /** Inside the app the service cannot fork: the shell starts throw-away processes for it and passes messages on. */
  | { kind: 'trial'; id: number; ask: { kind: 'fork' } | { kind: 'send'; message: unknown } | { kind: 'kill' } }

export const CHANNEL = { invoke: 'laya:invoke', snapshot: 'laya:snapshot', pull: 'laya:pull' } as const
