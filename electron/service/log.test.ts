import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const folder = () => mkdtempSync(join(tmpdir(), 'laya-log-'))
const lines = (file: string) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('one JSON object a line, below the level nothing', () => {
  const file = join(folder(), 'service.log')
  const log = createLog({ file, level: 'info', now: () => 0 })
  log.debug('not this')
  log.info('ready', { ms: 12.5, id: 'abc' })
  log.setLevel('debug')
  log.debug('but this')
  log.close()
  expect(lines(file)).toEqual([
    { time: '1970-01-01T00:00:00.000Z', level: 'info', text: 'ready', ms: 12.5, id: 'abc' },
    { time: '1970-01-01T00:00:00.000Z', level: 'debug', text: 'but this' },
  ])
  expect(log.tail()).toEqual([
    { at: 0, level: 'info', text: 'ready', id: 'abc' },
    { at: 0, level: 'debug', text: 'but this' },
  ])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a line cannot be forged, and secrets and the home folder stay out', () => {
  const file = join(folder(), 'service.log')
  const log = createLog({ file, level: 'info', now: () => 0 })
  const nasty = 'a\n{"level":"error"}\u2028\u0085\u009b31m'
  log.info('request', {
    id: nasty,
    token: 'hunter2',
    authorization: 'Bearer x',
    state: 'text',
    path: `${homedir()}/x`,
  })
  log.close()
  const text = readFileSync(file, 'utf8')
  expect(text.split('\n')).toHaveLength(2)
  expect(text).not.toMatch(/hunter2|Bearer|[\u2028\u0085\u009b]/)
  expect(lines(file)[0]).toMatchObject({ id: nasty, path: '~/x' })
  expect(Object.keys(lines(file)[0])).toEqual(['time', 'level', 'text', 'id', 'path'])
})

test('three files of the given size, the newest without a number', () => {
  const place = folder()
  const file = join(place, 'service.log')
  const log = createLog({ file, level: 'info', now: () => 0, maxBytes: 1000 })
  for (let n = 0; n < 100; n++) {
    log.info(`line ${n}`, { filler: 'x'.repeat(50) })
    log.flush()
  }
  log.close()
  expect(readdirSync(place).sort()).toEqual(['service.log', 'service.log.1', 'service.log.2'])
  for (const name of readdirSync(place)) expect(statSync(join(place, name)).size).toBeLessThanOrEqual(1000)
  expect(lines(file).at(-1).text).toBe('line 99')
  const all = ['service.log.2', 'service.log.1', 'service.log'].flatMap((name) => lines(join(place, name)))
  const first = Number(all[0].text.slice(5))
  expect(all.map((line) => line.text)).toEqual(
    Array.from({ length: 100 - first }, (_, n) => `line ${first + n}`),
  )
})

test('a log that cannot be written says so once and never throws', () => {
  const blocked = join(folder(), 'a file')
  writeFileSync(blocked, '')
  const log = createLog({ file: join(blocked, 'service.log'), level: 'info', now: () => 0 })
  for (let n = 0; n < 3; n++) {
    log.info(`line ${n}`)
    log.flush()
  }
  const warnings = log.tail().filter((line) => line.level === 'warn')
  expect(warnings.length).toBeGreaterThanOrEqual(1)
  expect(warnings[0]!.text).toContain('cannot be opened')
  expect(log.tail().filter((line) => line.text.startsWith('line'))).toHaveLength(3)
  log.close()
})
