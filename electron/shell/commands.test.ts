import { describe, expect, test } from 'vitest'
import type { Command, Result } from '../contract.ts'
import { DEFAULT_SETTINGS, type StoredSettings } from '../domain/settings.ts'
import type { SupervisorState } from '../domain/supervisor.ts'
import { createCommands } from './commands.ts'
import { sampleSnapshot } from './sample.ts'

function setup(options: { running?: boolean; state?: Partial<SupervisorState>; reply?: Result } = {}) {
  const did: unknown[] = []
  const world = {
    running: options.running ?? true,
    stored: { ...DEFAULT_SETTINGS, token: 'secret' } as StoredSettings,
    full: false,
    snapshot: sampleSnapshot(),
    opened: '',
  }
  const note = (name: string) => (value?: unknown) => {
    did.push(value === undefined ? name : [name, value])
  }
  const run = createCommands({
    supervisor: {
      start: note('start'),
      stop: async () => note('stop')(),
      restart: note('restart'),
      command: async (command) => {
        note('service')(command)
        return options.reply ?? { ok: true, data: 'from the service' }
      },
      state: () => ({ phase: 'ready', since: 0, generation: 1, restarts: 0, ...options.state }),
    },
    running: () => world.running,
    snapshot: () => world.snapshot,
    settings: {
      read: () => world.stored,
      write(settings) {
        if (world.full) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
        world.stored = settings
      },
    },
    setOpenAtLogin: note('login'),
    open: async (what) => {
      note('open')(what)
      return world.opened
    },
    reveal: note('reveal'),
    copy: note('copy'),
    dismiss: (notice) => notice.startsWith('shell.'),
    quit: note('quit'),
  })
  return { run, did, world }
}

test('start, stop, restart and quit belong to the shell', async () => {
  const { run, did } = setup()
  for (const kind of ['start', 'stop', 'restart', 'quit'] as const)
    expect(await run({ kind })).toEqual({ ok: true })
  expect(did).toEqual(['start', 'stop', 'restart', 'quit'])
})

test.each<Command>([
  { kind: 'install', checkpoint: 'english' },
  { kind: 'ask', body: '{}' },
  { kind: 'benchmark', mode: 'quick' },
  { kind: 'reveal', id: 'r' },
  { kind: 'dismiss', notice: 'n' },
])('$kind goes to the service and its answer comes back', async (command) => {
  const { run, did } = setup()
  expect(await run(command)).toEqual({ ok: true, data: 'from the service' })
  expect(did).toEqual([['service', command]])
})

test('a notice of the shell is dismissed here', async () => {
  const { run, did } = setup()
  expect(await run({ kind: 'dismiss', notice: 'shell.icon' })).toEqual({ ok: true })
  expect(did).toEqual([])
})

describe('settings while the service runs', () => {
  test('the service keeps them', async () => {
    const { run, did, world } = setup()
    const command: Command = { kind: 'settings', patch: { queueCapacity: 5 } }
    expect(await run(command)).toEqual({ ok: true, data: { restart: false } })
    expect(did).toEqual([['service', command]])
    expect(world.stored.queueCapacity).toBe(32)
  })

  test('a new port needs a new process', async () => {
    const { run, did } = setup()
    expect(await run({ kind: 'settings', patch: { port: 6000 } })).toEqual({
      ok: true,
      data: { restart: true },
    })
    expect(did.at(-1)).toBe('restart')
  })

  test('opening at login is asked of the system', async () => {
    const { run, did } = setup()
    await run({ kind: 'settings', patch: { openAtLogin: true } })
    expect(did.at(-1)).toEqual(['login', true])
  })

  test('what the service refuses changes nothing else', async () => {
    const error = { code: 'invalid_setting', sentence: 'No.' }
    const { run, did } = setup({ reply: { ok: false, error } })
    expect(await run({ kind: 'settings', patch: { port: 6000, openAtLogin: true } })).toEqual({
      ok: false,
      error,
    })
    expect(did).toHaveLength(1)
  })

  test('a service that ends meanwhile does not lose them', async () => {
    const error = { code: 'service_not_running', sentence: 'The service is not running.' }
    const { run, world } = setup({ reply: { ok: false, error } })
    expect(await run({ kind: 'settings', patch: { queueCapacity: 5 } })).toMatchObject({ ok: true })
    expect(world.stored).toMatchObject({ queueCapacity: 5, token: 'secret' })
  })
})

describe('settings while nothing runs', () => {
  test('are written here, the token included', async () => {
    const { run, did, world } = setup({ running: false, state: { phase: 'stopped' } })
    expect(await run({ kind: 'settings', patch: { port: 6000 } })).toEqual({
      ok: true,
      data: { restart: true },
    })
    expect(world.stored).toMatchObject({ port: 6000, token: 'secret' })
    expect(did).toEqual([])
  })

  test('another port after "port in use" starts at once', async () => {
    const problem = { code: 'port_in_use', sentence: 'Port 5292 is in use by Docker.' }
    const { run, did } = setup({ running: false, state: { phase: 'failed', problem } })
    await run({ kind: 'settings', patch: { port: 5293 } })
    expect(did).toEqual(['start'])
  })

  test('the same port again does not', async () => {
    const problem = { code: 'port_in_use', sentence: 'Port 5292 is in use by Docker.' }
    const { run, did } = setup({ running: false, state: { phase: 'failed', problem } })
    await run({ kind: 'settings', patch: { port: 5292 } })
    expect(did).toEqual([])
  })

  test('a checkpoint to use is kept for the next start', async () => {
    const { run, world } = setup({ running: false })
    await run({ kind: 'use', checkpoint: 'multilingual' })
    expect(world.stored.checkpoint).toBe('multilingual')
  })

  test('a full disk is said as such', async () => {
    const { run, world } = setup({ running: false })
    world.full = true
    await expect(run({ kind: 'settings', patch: { port: 6000 } })).rejects.toMatchObject({
      code: 'storage_failed',
      message: 'The settings cannot be saved: ENOSPC.',
    })
  })

  test('a bad value is refused whole', async () => {
    const { run, world } = setup({ running: false })
    const bad = { kind: 'settings', patch: { port: 0, queueCapacity: 5 } } as Command
    await expect(run(bad)).rejects.toMatchObject({ code: 'invalid_setting' })
    expect(world.stored.queueCapacity).toBe(32)
  })
})

describe('copy and open', () => {
  test('the address and a request', async () => {
    const { run, did } = setup()
    await run({ kind: 'copy', what: 'url' })
    await run({ kind: 'copy', what: 'curl' })
    await run({ kind: 'copy', what: 'report' })
    expect(did[0]).toEqual(['copy', 'http://127.0.0.1:5292'])
    expect(String(did[1])).toContain('curl -s http://127.0.0.1:5292/v1/systemone')
    expect(String(did[2])).toContain('| Laya Bar | 1.0.0 |')
  })

  test('no address while nothing is served', async () => {
    const { run, world } = setup({ running: false })
    world.snapshot = { ...world.snapshot, endpoint: undefined }
    await expect(run({ kind: 'copy', what: 'curl' })).rejects.toMatchObject({ code: 'service_not_running' })
  })

  test('folders', async () => {
    const { run, did, world } = setup()
    expect(await run({ kind: 'open', what: 'logs' })).toEqual({ ok: true })
    expect(did).toEqual([['open', 'logs']])
    world.opened = 'no application for it'
    await expect(run({ kind: 'open', what: 'docs' })).rejects.toMatchObject({ code: 'storage_failed' })
  })

  test('a report goes to the clipboard as Markdown, or to the Finder as a folder', async () => {
    const text = setup({ reply: { ok: true, data: { markdown: '# Report' } } })
    await text.run({ kind: 'exportReport', format: 'markdown' })
    expect(text.did.at(-1)).toEqual(['copy', '# Report'])
    const folder = setup({ reply: { ok: true, data: { folder: '/data/reports/1' } } })
    await folder.run({ kind: 'exportReport', format: 'folder' })
    expect(folder.did.at(-1)).toEqual(['reveal', '/data/reports/1'])
  })
})
