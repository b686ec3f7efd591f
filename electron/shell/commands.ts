import { LayaError } from '../../models/errors.ts'
import type { Command, Result, Snapshot } from '../contract.ts'
import { type AppliedPatch, applyPatch, type StoredSettings } from '../domain/settings.ts'
import type { Supervisor } from '../domain/supervisor.ts'
import { curlText, reportText } from '../domain/texts.ts'

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>

export interface CommandParts {
  supervisor: Pick<Supervisor, 'start' | 'stop' | 'restart' | 'command' | 'state'>
  /** Whether a service process lives. */
  running(): boolean
  snapshot(): Snapshot
  settings: {
    read(): StoredSettings
    /** @throws when the disk refuses. */
    write(settings: StoredSettings): void
  }
  /** Asks the system; what it then really does is read back by the view. */
  setOpenAtLogin(open: boolean): void
  /** Opens a folder or file of ours with the system. Resolves to what went wrong, or to ''. */
  open(what: Of<'open'>['what']): Promise<string>
  reveal(path: string): void
  copy(text: string): void
  /** True when the notice was one of the shell. */
  dismiss(notice: string): boolean
  quit(): void
}

const DONE: Result = { ok: true }

/** What each command does while the service runs and while it does not. Commands come parsed. */
export function createCommands(parts: CommandParts): (command: Command) => Promise<Result> {
  const { supervisor } = parts
  return async function run(command) {
    switch (command.kind) {
      case 'start':
        supervisor.start()
        return DONE
      case 'stop':
        await supervisor.stop()
        return DONE
      case 'restart':
        supervisor.restart()
        return DONE
      case 'quit':
        parts.quit()
        return DONE
      case 'settings':
        return changeSettings(command)
      case 'use':
        if (parts.running()) return supervisor.command(command)
        return changeSettings({ kind: 'settings', patch: { checkpoint: command.checkpoint } })
      case 'open':
        return open(command)
      case 'copy':
        return copy(command)
      case 'exportReport':
        return exportReport(command)
      case 'dismiss':
        return parts.dismiss(command.notice) ? DONE : supervisor.command(command)
      default:
        return supervisor.command(command)
    }
  }

  async function changeSettings(command: Of<'settings'>): Promise<Result> {
    // Judged here too: what the file cannot hold must not reach the system either.
    const applied = applyPatch(parts.settings.read(), command.patch)
    const { openAtLogin } = command.patch
    const result = parts.running() ? await supervisor.command(command) : keep(applied)
    if (!result.ok) {
      if (result.error.code !== 'service_not_running') return result
      // The service ended before it could answer: the file is ours again.
      keep(applied)
    }
    if (openAtLogin !== undefined) parts.setOpenAtLogin(openAtLogin)
    const { phase, problem } = supervisor.state()
    if (applied.restart && parts.running()) supervisor.restart()
    else if (applied.restart && phase === 'failed' && problem?.code === 'port_in_use') supervisor.start()
    return { ok: true, data: { restart: applied.restart } }
  }

  function keep({ settings }: AppliedPatch): Result {
    try {
      parts.settings.write(settings)
    } catch (cause) {
      throw new LayaError('storage_failed', `The settings cannot be saved: ${reason(cause)}.`, {
        hint: 'Free some disk space, or check the rights of the data folder, and try again.',
        cause,
      })
    }
    return DONE
  }

  async function open({ what }: Of<'open'>): Promise<Result> {
    const fault = await parts.open(what)
    if (fault === '') return DONE
    throw new LayaError('storage_failed', `The folder cannot be opened: ${fault}.`)
  }

  function copy({ what }: Of<'copy'>): Result {
    const snapshot = parts.snapshot()
    if (what === 'report') {
      parts.copy(reportText(snapshot))
      return DONE
    }
    const url = snapshot.endpoint?.url
    if (url === undefined)
      throw new LayaError('service_not_running', 'There is no address to copy: nothing is served.', {
        hint: 'Start serving first.',
      })
    parts.copy(what === 'url' ? url : curlText(url))
    return DONE
  }

  /** The service writes the report; the clipboard and the Finder are ours. */
  async function exportReport(command: Of<'exportReport'>): Promise<Result> {
    const result = await supervisor.command(command)
    const data =
      result.ok && typeof result.data === 'object' ? (result.data as Record<string, unknown>) : null
    if (typeof data?.markdown === 'string') parts.copy(data.markdown)
    if (typeof data?.folder === 'string') parts.reveal(data.folder)
    return result
  }
}

function reason(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code ?? message ?? String(cause)
}
