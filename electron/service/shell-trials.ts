import type { FromService, ToService } from '../contract.ts'
import type { StartTrial, TrialProcess } from '../engine/trials.ts'

type Told = Extract<ToService, { kind: 'trial' }>['did']

export interface ShellTrials {
  start: StartTrial
  /** Everything the shell tells about trials. */
  hear(message: Extract<ToService, { kind: 'trial' }>): void
}

const STDERR_KEPT = 64 * 1024

/** Throw-away processes started by the shell: inside the app a service cannot fork (electron-app.md, fuses). */
export function createShellTrials(post: (message: FromService) => void): ShellTrials {
  const listeners = new Map<number, (did: Told) => void>()
  let last = 0
  return { start, hear: ({ id, did }) => listeners.get(id)?.(did) }

  function start(): TrialProcess {
    const id = ++last
    let stderr = ''
    let onMessage: Parameters<TrialProcess['onMessage']>[0] = () => {}
    let onExit: Parameters<TrialProcess['onExit']>[0] = () => {}
    listeners.set(id, (did) => {
      if (did.kind === 'message') onMessage(did.message as Parameters<typeof onMessage>[0])
      else if (did.kind === 'stderr') stderr = (stderr + did.text).slice(-STDERR_KEPT)
      else {
        listeners.delete(id)
        onExit({ code: did.code, signal: null })
      }
    })
    post({ kind: 'trial', id, ask: { kind: 'fork' } })
    return {
      send: (message) => post({ kind: 'trial', id, ask: { kind: 'send', message } }),
      onMessage(listener) {
        onMessage = listener
      },
      onExit(listener) {
        onExit = listener
      },
      stderr: () => stderr,
      kill() {
        if (listeners.delete(id)) post({ kind: 'trial', id, ask: { kind: 'kill' } })
      },
    }
  }
}
