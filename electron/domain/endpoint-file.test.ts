import { expect, test } from 'vitest'
import { type EndpointFile, judgeLeftover, parseEndpointFile } from './endpoint-file.ts'

const file: EndpointFile = {
  url: 'http://127.0.0.1:5292',
  port: 5292,
  pid: 4121,
  startedAt: 1_700_000_000_400,
  nonce: 'n',
  version: '1.0.0',
}

test('reads what it writes, with members it does not know', () => {
  expect(parseEndpointFile(JSON.stringify({ ...file, more: 1 }))).toEqual(file)
})

test.each([
  '',
  '{',
  'null',
  '[]',
  '{"pid": 1}',
  JSON.stringify({ ...file, pid: -1 }),
  JSON.stringify({ ...file, pid: '4' }),
])('no file: %s', (text) => {
  expect(parseEndpointFile(text)).toBeNull()
})

test.each([
  ['no such process', null, 'stale'],
  ['the pid belongs to a younger process', { startedAt: 1_700_000_100_000, parent: 1 }, 'stale'],
  ['the pid belongs to an older process', { startedAt: 1_600_000_000_000, parent: 1 }, 'stale'],
  ['left alone by its parent', { startedAt: 1_700_000_000_000, parent: 1 }, 'orphan'],
  ['looked after by another program', { startedAt: 1_700_000_001_000, parent: 900 }, 'other'],
] as const)('%s', (_name, found, verdict) => {
  expect(judgeLeftover(file, found)).toBe(verdict)
})
