import type { Architecture } from '../../models/config.ts'
import type { DeviceReport, Phase, Problem } from '../contract.ts'
import type { Encoder, Engine } from '../engine/engine.ts'

/** What replies and `/health` say about one loaded checkpoint. */
export interface Resident {
  name: string
  repo: string | null
  revision: string | null
  demo: boolean
  architecture: Architecture
  encoder: Encoder
  /** Replaced in place when a better engine passed the gate or a dead one was replaced. */
  engine: Engine
  report: DeviceReport
  warmupMs: number
  /** Times this checkpoint left the engine it was meant for since it was loaded. */
  fallbacks: { count: number; lastReason: string | null }
  /** Graphs (compiled lengths) of the engine. `recompiled` changes its base only on a successful load. */
  graphs: { atReady: number; now: number; recompiled: number }
}

export interface ResidencyState {
  phase: Phase
  progress?: string
  /** 0..1 of the load, when known. */
  fraction?: number
  problem?: Problem
  /** Names, the selected checkpoint first. */
  loaded: string[]
  preparing: string[]
  selected: string
  installed: { name: string; aliases: string[]; description: string; releaseDate: string; owner: string }[]
}

/** Which checkpoints are loaded. Requests hold a lease while they run, so that a switch drops none of them. */
export interface Residency {
  state(): ResidencyState
  /** Those of `state().loaded`, for reports. Unlike a lease it does not count as use. */
  residents(): readonly Resident[]
  /** What is loaded and warm, the selected checkpoint first. Takes no lease and does not count as use. */
  residents(): Resident[]
  /**
   * `null` = the selected checkpoint. Throws LayaError `unknown_model`, `model_not_loaded` or `not_ready`
   * (which starts a load on demand where that is allowed).
   */
  lease(name: string | null): { resident: Resident; release(): void }
  use(name: string): Promise<void>
  unload(name: string): Promise<void>
  close(): Promise<void>
}
