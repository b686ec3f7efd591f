import { expect, test } from 'vitest'
import { createLoginItem } from './login-item.ts'
import { createNotices } from './notices.ts'

function setup(obey: (wanted: boolean) => { openAtLogin: boolean; status: string }) {
  let told = { openAtLogin: false, status: 'not-registered' }
  const asked: unknown[] = []
  const notices = createNotices(() => 5)
  const item = createLoginItem(
    {
      getLoginItemSettings: () => told as never,
      setLoginItemSettings(settings) {
        asked.push(settings)
        told = obey(settings?.openAtLogin ?? false)
      },
    },
    notices,
  )
  return { item, asked, notices, tell: (status: typeof told) => (told = status) }
}

test('nothing is asked of the system until the user asks', () => {
  const { item, asked } = setup(() => ({ openAtLogin: true, status: 'enabled' }))
  expect([item.open(), asked]).toEqual([false, []])
  item.set(true)
  expect([item.open(), asked]).toEqual([true, [{ openAtLogin: true }]])
})

test('what the user took back in System Settings stays taken back', () => {
  const { item, asked, tell } = setup(() => ({ openAtLogin: true, status: 'enabled' }))
  item.set(true)
  tell({ openAtLogin: false, status: 'not-registered' })
  item.refresh()
  expect([item.open(), asked.length]).toEqual([false, 1])
})

test('a missing approval is said, until it was given', () => {
  const { item, notices, tell } = setup(() => ({ openAtLogin: false, status: 'requires-approval' }))
  item.set(true)
  expect(item.open()).toBe(true)
  expect(notices.list()[0]).toMatchObject({
    id: 'shell.login',
    sentence: 'Opening at login waits for your approval.',
  })
  tell({ openAtLogin: true, status: 'enabled' })
  item.refresh()
  expect(notices.list()).toEqual([])
})

test('a refusal is said', () => {
  const { item, notices } = setup(() => ({ openAtLogin: false, status: 'not-found' }))
  item.set(true)
  expect(item.open()).toBe(false)
  expect(notices.list()[0]!.hint).toContain('Applications')
  item.set(false)
  expect(notices.list()).toEqual([])
})
