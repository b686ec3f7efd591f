import { expect, test } from 'vitest'
import { assetHeaders, assetOf } from './assets.ts'

test.each([
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/index.html', 'index.html', 'text/html; charset=utf-8'],
  ['/assets/index-B7x_9.js', 'assets/index-B7x_9.js', 'text/javascript; charset=utf-8'],
  ['/assets/a%2Db.css', 'assets/a-b.css', 'text/css; charset=utf-8'],
  ['/icon.svg', 'icon.svg', 'image/svg+xml'],
])('%s is %s', (pathname, path, type) => {
  expect(assetOf(pathname)).toEqual({ path, type })
})

test.each([
  '',
  'index.html',
  '//index.html',
  '/../package.json',
  '/assets/../../electron/main.js',
  '/%2e%2e/electron/main.js',
  '/%2e%2e%2felectron%2fmain.js',
  '/..%5cmain.js',
  '/assets\\..\\main.js',
  '/assets/./a.js',
  '/assets//a.js',
  '/a.js/',
  '/.env',
  '/assets/.hidden.js',
  '/a.js%00.png',
  '/%E0%A4%A',
  '/secret.json',
  '/main.js.map',
  '/noending',
  '/constructor',
  '/x.constructor',
  '/x.__proto__',
])('%s is refused', (pathname) => {
  expect(assetOf(pathname)).toBeNull()
})

test('the policy allows own files alone, and no connection inside the app', () => {
  const inside = assetHeaders('text/html', 'none')
  expect(inside['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
      "connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  )
  expect(inside['x-content-type-options']).toBe('nosniff')
  expect(assetHeaders('text/html', 'self')['content-security-policy']).toContain("connect-src 'self';")
})
