import { expect, test } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import type { Command } from '../contract.ts'
import { parseCommand } from './command.ts'

// One of each kind: the `satisfies` makes the table complete, so a new command of the contract breaks this test.
const EXAMPLES = {
  start: { kind: 'start' },
  stop: { kind: 'stop' },
  restart: { kind: 'restart' },
  quit: { kind: 'quit' },
  use: { kind: 'use', checkpoint: 'english' },
  install: { kind: 'install', checkpoint: 'english' },
  pause: { kind: 'pause', checkpoint: 'english' },
  resume: { kind: 'resume', checkpoint: 'english' },
  cancelInstall: { kind: 'cancelInstall', checkpoint: 'english' },
  verify: { kind: 'verify', checkpoint: 'english' },
  remove: { kind: 'remove', checkpoint: 'english' },
  unload: { kind: 'unload', checkpoint: 'english' },
  import: { kind: 'import', folder: '/a/b', name: 'mine' },
  ask: { kind: 'ask', body: '{"state": "10"}' },
  fit: { kind: 'fit', body: '' },
  recheck: { kind: 'recheck' },
  benchmark: { kind: 'benchmark', mode: 'quick', against: 'http://127.0.0.1:8000' },
  cancelBenchmark: { kind: 'cancelBenchmark' },
  exportReport: { kind: 'exportReport', format: 'markdown' },
  settings: { kind: 'settings', patch: { port: 6000, token: null } },
  open: { kind: 'open', what: 'logs' },
  copy: { kind: 'copy', what: 'curl' },
  reveal: { kind: 'reveal', id: 'r1' },
  clearRecents: { kind: 'clearRecents' },
  dismiss: { kind: 'dismiss', notice: 'n1' },
} satisfies { [K in Command['kind']]: Command & { kind: K } }

test.each(Object.values(EXAMPLES))('$kind', (command) => {
  expect(parseCommand(command)).toEqual(command)
})

test('optional members may be absent', () => {
  expect(parseCommand({ kind: 'import', folder: '/a' })).toEqual({ kind: 'import', folder: '/a' })
  expect(parseCommand({ kind: 'benchmark', mode: 'full' })).toEqual({ kind: 'benchmark', mode: 'full' })
})

test.each([
  null,
  undefined,
  'start',
  [],
  {},
  { kind: 'eject' },
  { kind: 'use' },
  { kind: 'use', checkpoint: '' },
  { kind: 'use', checkpoint: 5 },
  { kind: 'stop', extra: 1 },
  { kind: 'open', what: '/etc/passwd' },
  { kind: 'benchmark', mode: 'quick', against: 'file:///etc/passwd' },
  { kind: 'settings', patch: { tokenSet: true } },
  { kind: 'settings', patch: { port: 0 } },
  { kind: 'ask', body: 'x'.repeat(4_194_305) },
  JSON.parse('{"__proto__":{"kind":"quit"}}'),
])('refuses %#', (value) => {
  expect(() => parseCommand(value)).toThrow(LayaError)
})
