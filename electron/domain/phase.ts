import type { Phase } from '../contract.ts'

/**
 * What can happen to the service.
 *
 * - `start` a process was asked for · `listening` its sockets are open · `load` a checkpoint begins to load with
 *   nothing else to serve · `loaded` its session exists · `ready` it is warm and the service has reached itself
 * - `switch` another checkpoint or engine is made warm beside the one that serves · `switched` that ended, well or not
 * - `unload` nothing is resident any more · `suspend` the machine goes to sleep
 * - `drain` no new work is admitted because the service is asked to end · `stop` the process is being ended ·
 *   `exit` its end was observed · `fail` it cannot go on
 */
export type PhaseEvent =
  | 'start'
  | 'listening'
  | 'load'
  | 'loaded'
  | 'ready'
  | 'switch'
  | 'switched'
  | 'unload'
  | 'suspend'
  | 'drain'
  | 'stop'
  | 'exit'
  | 'fail'

const ENDING = { stop: 'stopping', exit: 'stopped', fail: 'failed' } as const
const SERVING = { ...ENDING, drain: 'draining' } as const

const TABLE: Record<Phase, Partial<Record<PhaseEvent, Phase>>> = {
  stopped: { start: 'starting', fail: 'failed' },
  starting: { ...SERVING, listening: 'loading' },
  loading: { ...SERVING, loaded: 'warming', unload: 'unloaded' },
  warming: { ...SERVING, ready: 'ready', unload: 'unloaded', load: 'loading' },
  ready: { ...SERVING, switch: 'switching', unload: 'unloaded', suspend: 'warming', load: 'loading' },
  switching: { ...SERVING, switched: 'ready', unload: 'unloaded', suspend: 'warming', load: 'loading' },
  unloaded: { ...SERVING, load: 'loading' },
  draining: ENDING,
  stopping: { exit: 'stopped', fail: 'failed' },
  // A failure holds its reason until the user acts: Start, or another checkpoint to load.
  failed: { start: 'starting', load: 'loading', drain: 'draining', stop: 'stopping', exit: 'failed' },
}

/** The phase after `event`. An event that cannot happen in `phase` is a late one and changes nothing. */
export function next(phase: Phase, event: PhaseEvent): Phase {
  return TABLE[phase][event] ?? phase
}

/** Whether decisions are answered in this phase. */
export function serves(phase: Phase): boolean {
  return phase === 'ready' || phase === 'switching'
}
