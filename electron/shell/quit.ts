import { Worker } from 'node:worker_threads'

/** After this time the app is gone, whatever hangs: 2 s to finish requests, 3 s until the service is killed, and air. */
export const HARD_LIMIT_MS = 5000

export interface QuitParts {
  /** Settles when the end of the service process was observed. */
  stop(): Promise<void>
  /** Runs before the end whatever happens: windows, blockers, the icon. */
  close(): void
  /** Ends the app at once, without asking anybody. */
  exit(): void
  /** Arms the hard limit. */
  watch(): void
}

export interface Quit {
  /** Everything called Quit comes here. Safe to call again. */
  request(): void
  /** For `before-quit`: holds the end back until the service has gone, unless the system shuts down. */
  beforeQuit(event: { preventDefault(): void }): void
  /** The system goes down: nothing holds it up any more, and the service ends with its parent. */
  shutdown(): void
  quitting(): boolean
}

/** Order of the end: mark → refuse and drain → close the engine → exit seen → leave. */
export function createQuit({ stop, close, exit, watch }: QuitParts): Quit {
  let state: 'running' | 'quitting' | 'leaving' = 'running'
  return {
    request,
    beforeQuit(event) {
      if (state === 'leaving') return
      event.preventDefault()
      request()
    },
    shutdown() {
      state = 'leaving'
      void stop()
      close()
    },
    quitting: () => state !== 'running',
  }

  function request(): void {
    if (state !== 'running') return
    state = 'quitting'
    watch()
    void stop().finally(() => {
      state = 'leaving'
      close()
      exit()
    })
  }
}

/**
 * Ends `pids` after `ms` even if the main thread hangs: a timer on a thread of its own, which SIGKILL does not have
 * to ask. The last pid should be our own.
 *
 * @returns the function that calls it off.
 */
export function watchProcesses(pids: number[], ms: number): () => void {
  const program = `
    const { workerData: { pids, ms } } = require('node:worker_threads')
    setTimeout(() => {
      for (const pid of pids) try { process.kill(pid, 'SIGKILL') } catch {}
    }, ms)`
  const worker = new Worker(program, { eval: true, execArgv: [], workerData: { pids, ms } })
  worker.unref()
  return () => void worker.terminate()
}
