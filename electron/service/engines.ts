import type { Installed } from '../../models/installed.ts'
import type { DeviceReport } from '../contract.ts'
import type { EngineSpec } from '../engine/engine.ts'

/** An engine for one checkpoint, and what is known about where it runs. */
export interface EngineChoice {
  spec: EngineSpec
  report: DeviceReport
}

/** Which engine serves a checkpoint. Knows candidates, checks and measurements; loads nothing into this process. */
export interface EnginePolicy {
  /**
   * The engine to serve with now: the best one that passed its check on this machine earlier, else the CPU.
   *
   * @param avoid names (`candidateName`) of engines that were given up.
   * @throws LayaError `engine_unavailable` when the required device cannot be had, `checkpoint_unusable`, `disk_full`.
   */
  choose(
    installed: Installed,
    avoid: ReadonlySet<string>,
    onProgress: (step: string) => void,
  ): Promise<EngineChoice>
  /**
   * Checks and times, in throw-away processes, what was not yet checked on this machine. Settles with the better
   * choice, or with the present one and a report that knows more, or with `null` when nothing was learnt.
   */
  improve(
    installed: Installed,
    current: EngineChoice,
    avoid: ReadonlySet<string>,
    options: { signal: AbortSignal; onProgress: (step: string) => void; again: boolean },
  ): Promise<EngineChoice | null>
}
