import { expect, test } from 'vitest'
import type { Recent } from '../contract.ts'
import { createRecents } from './recents.ts'

const recent = (id: string): Recent => ({
  id,
  at: 0,
  dialect: 'laya',
  checkpoint: 'laya-demo',
  status: 200,
  questions: [],
  totalMs: 1,
  inferMs: 1,
  inputTokens: 1,
  tokensDropped: 0,
})

test('the newest fifty, newest first, texts only on demand', () => {
  const recents = createRecents()
  for (let n = 0; n < 60; n++) recents.add(recent(`r${n}`), `{"state":"secret ${n}"}`)
  expect(recents.list()).toHaveLength(50)
  expect(recents.list()[0]!.id).toBe('r59')
  expect(JSON.stringify(recents.list())).not.toContain('secret')
  expect(recents.reveal('r59')).toEqual({ body: '{"state":"secret 59"}', cut: false })
  expect(recents.reveal('r9')).toBeUndefined()
})

test('a huge text is kept in part and said to be cut', () => {
  const recents = createRecents()
  recents.add(recent('big'), 'x'.repeat(2_000_000))
  expect(recents.reveal('big')).toEqual({ body: 'x'.repeat(65_536), cut: true })
})

test('cleared means gone', () => {
  const recents = createRecents()
  recents.add(recent('a'), 'text')
  recents.clear()
  expect(recents.list()).toEqual([])
  expect(recents.reveal('a')).toBeUndefined()
})
