import type { ForkOptions, UtilityProcess } from 'electron'
import type { FromService } from '../contract.ts'
import type { Child, Launch } from '../domain/supervisor.ts'

/** Shown by Activity Monitor. */
export const SERVICE_NAME = 'Laya Bar service'

/** What a service needs from the environment. Everything else could change how Node, Electron or dyld behave. */
const ALLOWED =
  /^(HOME|USER|LOGNAME|PATH|LANG|LC_[A-Z]+|TZ|TMPDIR|XDG_[A-Z_]+|HF_HOME|HF_HUB_CACHE|HUGGINGFACE_HUB_CACHE|LAYA_BAR_[A-Z_]+|__CF_USER_TEXT_ENCODING)$/

/** Never empty: Electron gives a child with an empty environment the whole one of the parent. */
export function serviceEnvironment(
  env: NodeJS.ProcessEnv,
  own: Record<string, string>,
): Record<string, string> {
  const kept = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && ALLOWED.test(entry[0]),
  )
  return { ...Object.fromEntries(kept), ...own }
}

export interface SpawnParts {
  fork(modulePath: string, args: string[], options: ForkOptions): UtilityProcess
  /** The service's bundle. It may lie inside `app.asar`; the native files it loads may not. */
  entry: string
  environment(): Record<string, string>
  /** What the process writes beside its messages: last words of native code, mostly. */
  onOutput(text: string): void
  /** Ends a process whatever it does. Electron's own `kill` only asks. */
  kill(pid: number, signal: 'SIGKILL'): void
}

export interface Spawner {
  spawn(launch: Launch): Child
  /** The process that lives now. */
  pid(): number | undefined
  alive(): boolean
  /** Electron's reason for an end, which may come before the exit, after it or never. */
  noteGone(reason: string): void
}

/** Gives the supervisor processes of Electron's own kind: one at a time, each with its ends tied. */
export function createSpawner({ fork, entry, environment, onOutput, kill }: SpawnParts): Spawner {
  let current: UtilityProcess | null = null
  let reason: string | null = null
  return {
    pid: () => current?.pid,
    alive: () => current !== null,
    noteGone(text) {
      reason = text
    },
    spawn(launch) {
      reason = null
      const born = fork(entry, [], {
        serviceName: SERVICE_NAME,
        stdio: 'pipe',
        execArgv: [],
        env: {
          ...environment(),
          // The new process tells its own log why the one before it ended.
          ...(launch.failure && { LAYA_BAR_FAILURE: JSON.stringify(launch.failure) }),
        },
      })
      current = born
      for (const stream of [born.stdout, born.stderr])
        stream?.on('data', (chunk: Buffer) => onOutput(chunk.toString('utf8')))
      return {
        get pid() {
          return born.pid
        },
        post: (message) => born.postMessage(message),
        kill(signal) {
          // Before it has a pid the process does not exist for the system; Electron then drops the launch.
          if (signal === 'SIGKILL' && born.pid !== undefined) kill(born.pid, signal)
          else born.kill()
        },
        onMessage: (listener) => {
          born.on('message', (message: FromService) => listener(message))
        },
        onExit: (listener) => {
          born.once('exit', (code) => {
            // Dropped first: posting to a process inside its exit listener crashes Electron 44 (electron#53923).
            if (current === born) current = null
            listener(reason ?? `code ${code}`)
          })
        },
      }
    },
  }
}
