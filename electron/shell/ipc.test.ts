import type { IpcMainInvokeEvent, WebContents } from 'electron'
import { describe, expect, test } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import type { Command, Result } from '../contract.ts'
import { answer, isTrusted } from './ipc.ts'

describe('who may speak', () => {
  const mainFrame = { url: 'app://panel/' }
  const panel = { mainFrame } as unknown as WebContents
  const from = (sender: unknown, senderFrame: unknown) =>
    isTrusted({ sender, senderFrame } as unknown as IpcMainInvokeEvent, panel)

  test('the main frame of the panel', () => {
    expect(from(panel, mainFrame)).toBe(true)
  })

  test.each([
    ['a frame inside the panel', panel, { url: 'app://panel/' }],
    ['a frame that is gone', panel, null],
    ['another window', { mainFrame }, mainFrame],
  ])('not %s', (_name, sender, frame) => {
    expect(from(sender, frame)).toBe(false)
  })

  test.each(['https://a.example/', 'app://panel.evil/', 'app://other/', 'about:blank', 'file:///x', ''])(
    'not a panel that was led to %s',
    (url) => {
      const led = { url }
      const gone = { mainFrame: led } as unknown as WebContents
      expect(isTrusted({ sender: gone, senderFrame: led } as unknown as IpcMainInvokeEvent, gone)).toBe(false)
    },
  )

  test('nobody while there is no window', () => {
    expect(isTrusted({ sender: panel, senderFrame: mainFrame } as unknown as IpcMainInvokeEvent, null)).toBe(
      false,
    )
  })
})

describe('what is said', () => {
  const ran: Command[] = []
  const run = async (command: Command): Promise<Result> => {
    ran.push(command)
    return { ok: true, data: 1 }
  }
  const noFault = (error: unknown) => {
    throw error
  }

  test('a command is run as parsed', async () => {
    expect(await answer({ kind: 'stop' }, run, noFault)).toEqual({ ok: true, data: 1 })
    expect(ran).toEqual([{ kind: 'stop' }])
  })

  const deep: unknown[] = []
  let at = deep
  for (let n = 0; n < 10_000; n++) {
    const next: unknown[] = []
    at.push(next)
    at = next
  }
  test.each([
    null,
    7,
    'quit',
    [],
    deep,
    { kind: 'quit', and: 'more' },
    { kind: '__proto__' },
    { kind: ['quit'] },
    JSON.parse('{"__proto__": {"kind": "quit"}}'),
    { kind: 'open', what: '../../etc' },
    { kind: 'settings', patch: { port: 80.5 } },
    { kind: 'settings', patch: { constructor: 1 } },
    { kind: 'use', checkpoint: 'x'.repeat(10_000) },
  ])('refused with a sentence, and nothing runs: %#', async (raw) => {
    const before = ran.length
    const result = await answer(raw, run, noFault)
    expect(result).toMatchObject({ ok: false, error: { code: expect.stringMatching(/^invalid_/) } })
    expect(ran).toHaveLength(before)
  })

  test('a known failure keeps code, sentence and next step', async () => {
    const fail = async () => {
      throw new LayaError('invalid_setting', 'No.', { hint: 'Try again.' })
    }
    expect(await answer({ kind: 'stop' }, fail, noFault)).toEqual({
      ok: false,
      error: { code: 'invalid_setting', sentence: 'No.', hint: 'Try again.' },
    })
  })

  test('an unforeseen one says nothing of its own making and is logged', async () => {
    const faults: unknown[] = []
    const fail = async () => {
      throw new Error('ENOENT /Users/ada/secret')
    }
    const result = await answer({ kind: 'stop' }, fail, (error) => faults.push(error))
    expect(JSON.stringify(result)).not.toContain('ada')
    expect(faults).toHaveLength(1)
  })
})
