import type { ForkOptions, UtilityProcess } from 'electron'
import type { FromService, ToService } from '../contract.ts'

type Ask = Extract<FromService, { kind: 'trial' }>
type Told = Extract<ToService, { kind: 'trial' }>

export interface TrialParts {
  fork(modulePath: string, args: string[], options: ForkOptions): UtilityProcess
  entry: string
  environment(): Record<string, string>
  /** To the service that asked. */
  post(told: Told): void
  kill(pid: number, signal: 'SIGKILL'): void
}

export interface Trials {
  hear(ask: Ask): void
  /** The service that asked is gone: so are its trials. */
  endAll(): void
}

/**
 * Throw-away processes in which engines are tried and plans read: they may crash or hang. A service inside the app
 * cannot fork, because the app does not run as Node (fuse `runAsNode`), so it asks for them here.
 */
export function createTrials({ fork, entry, environment, post, kill }: TrialParts): Trials {
  const running = new Map<number, UtilityProcess>()
  return {
    hear({ id, ask }) {
      if (ask.kind === 'fork') start(id)
      else if (ask.kind === 'send') running.get(id)?.postMessage(ask.message)
      else end(id)
    },
    endAll() {
      for (const id of [...running.keys()]) end(id)
    },
  }

  function start(id: number): void {
    const born = fork(entry, [], {
      serviceName: 'Laya Bar trial',
      stdio: 'pipe',
      execArgv: [],
      env: environment(),
    })
    running.set(id, born)
    born.stdout?.resume()
    born.stderr?.on('data', (chunk: Buffer) =>
      tell(id, born, { kind: 'stderr', text: chunk.toString('utf8') }),
    )
    born.on('message', (message: unknown) => tell(id, born, { kind: 'message', message }))
    born.once('exit', (code) => {
      tell(id, born, { kind: 'exit', code })
      if (running.get(id) === born) running.delete(id)
    })
  }

  function tell(id: number, from: UtilityProcess, did: Told['did']): void {
    if (running.get(id) === from) post({ kind: 'trial', id, did })
  }

  function end(id: number): void {
    const dying = running.get(id)
    running.delete(id)
    if (dying?.pid !== undefined) kill(dying.pid, 'SIGKILL')
    else dying?.kill()
  }
}
