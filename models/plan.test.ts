import { describe, expect, it } from 'vitest'
import { CATALOG, findEntry } from './catalog.ts'
import type { FoundCopy } from './hub-cache.ts'
import { planInstall } from './plan.ts'
import { parseHubReference } from './source.ts'

const COMMIT = '1c5edc17a7acd8701df6fc341c0d179f1c62c982'
const copy = (more: Partial<FoundCopy>): FoundCopy => ({
  name: 'tuned',
  entry: null,
  folder: '/cache/tuned',
  where: 'Hugging Face cache',
  repo: 'owner/tuned',
  revision: COMMIT,
  ...more,
})

describe('planInstall', () => {
  it('pins a published checkpoint to its revision and folder', () => {
    expect(planInstall('ml', undefined, [])).toEqual({
      kind: 'hub',
      name: 'multilingual',
      source: { repo: 'convaiinnovations/laya', revision: COMMIT, folder: 'multilingual' },
    })
  })

  it('takes a copy on this machine before the Hub', () => {
    const english = copy({ name: 'english', entry: findEntry('english')!, folder: '/cache/english' })
    expect(planInstall('en', undefined, [copy({}), english])).toMatchObject({
      kind: 'folder',
      name: 'english',
      source: { folder: '/cache/english', origin: 'cache', revision: COMMIT },
    })
    expect(planInstall('tuned', 'mine', [copy({})])).toMatchObject({ kind: 'folder', name: 'mine' })
    expect(planInstall(`owner/tuned@${COMMIT}`, undefined, [copy({})])).toMatchObject({ kind: 'folder' })
    expect(planInstall('owner/tuned', undefined, [copy({})])).toMatchObject({ kind: 'hub', name: 'tuned' })
  })

  it('names a repository of the user after it', () => {
    expect(planInstall('owner/some.model@v2:a/b', undefined, [])).toEqual({
      kind: 'hub',
      name: 'some.model-a-b',
      source: { repo: 'owner/some.model', revision: 'v2', folder: 'a/b' },
    })
  })

  it.each([
    ['nonsense', undefined, 'unknown_model'],
    ['demo', undefined, 'checkpoint_exists'],
    ['english', 'other', 'invalid_checkpoint_name'],
    ['owner/english', undefined, 'invalid_checkpoint_name'],
    ['owner/x', 'jev-x', 'invalid_checkpoint_name'],
  ])('refuses %s as %s', (wanted, own, code) => {
    expect(() => planInstall(wanted, own, [])).toThrow(expect.objectContaining({ code }))
  })
})

describe('parseHubReference', () => {
  it.each([
    'english',
    'a/b/c',
    '/a/b',
    '../b',
    'a/..',
    'a/b@../c',
    'a/b:../c',
    'a/b:',
    'https://x/y',
    'a /b',
  ])('does not take %j', (text) => {
    expect(parseHubReference(text)).toBeUndefined()
  })
})

describe('the catalogue', () => {
  it('has one owner for every name, and says where each statement comes from', () => {
    const names = CATALOG.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    for (const { strengths, weaknesses, files, bytes, bytesExact } of CATALOG) {
      expect(weaknesses.length).toBeGreaterThanOrEqual(3)
      for (const { sentence, source } of [...strengths, ...weaknesses]) {
        expect(sentence).toMatch(/\.$/)
        expect(source).not.toBe('')
      }
      const known = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0)
      expect(known).toBeLessThanOrEqual(bytes)
      if (bytesExact && files.every((file) => file.bytes !== null)) expect(known).toBe(bytes)
    }
  })
})
