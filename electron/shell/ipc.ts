import type { IpcMainInvokeEvent, WebContents } from 'electron'
import { LayaError } from '../../models/errors.ts'
import type { Command, Problem, Result } from '../contract.ts'
import { parseCommand } from '../domain/command.ts'
import { PANEL_URL } from './protocol.ts'

/** Whether a message comes from the main frame of our own window while it shows our own page. */
export function isTrusted(
  event: Pick<IpcMainInvokeEvent, 'sender' | 'senderFrame'>,
  panel: WebContents | null,
): boolean {
  const { sender, senderFrame } = event
  return (
    panel !== null &&
    sender === panel &&
    senderFrame !== null &&
    senderFrame === panel.mainFrame &&
    senderFrame.url.startsWith(PANEL_URL)
  )
}

export const UNTRUSTED: Result = {
  ok: false,
  error: { code: 'invalid_command', sentence: 'This page may not give commands.' },
}

/**
 * Parses a command of the panel and runs it. Always an envelope: Electron keeps nothing but the message of an error
 * that `invoke` throws (electron#24427).
 *
 * @param onFault gets what nobody foresaw.
 */
export async function answer(
  raw: unknown,
  run: (command: Command) => Promise<Result>,
  onFault: (error: unknown) => void,
): Promise<Result> {
  try {
    return await run(parseCommand(raw))
  } catch (error) {
    if (error instanceof LayaError) return { ok: false, error: problemOf(error) }
    onFault(error)
    return {
      ok: false,
      error: { code: 'internal_error', sentence: 'Internal error; the log of the app has more.' },
    }
  }
}

export function problemOf({ code, message, details }: LayaError): Problem {
  return { code, sentence: message, ...(details.hint !== undefined && { hint: details.hint }) }
}
