import { describe, expect, test } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import { applyPatch, DEFAULT_SETTINGS, formatSettings, parseSettings, publicSettings } from './settings.ts'

function refusal(patch: unknown): LayaError {
  try {
    applyPatch(DEFAULT_SETTINGS, patch)
  } catch (error) {
    if (error instanceof LayaError) return error
    throw error
  }
  throw new Error('the patch was accepted')
}

describe('parseSettings', () => {
  test('no file: defaults, nothing to say', () => {
    expect(parseSettings(null)).toEqual({ settings: DEFAULT_SETTINGS, notices: [] })
  })

  test('what was written is read back', () => {
    const settings = {
      ...DEFAULT_SETTINGS,
      port: 6000,
      allowedOrigins: ['http://localhost:3000'],
      token: 'secret',
    }
    expect(parseSettings(formatSettings(settings))).toEqual({ settings, notices: [] })
  })

  test('one bad value costs only itself and is named', () => {
    const { settings, notices } = parseSettings(
      '{"version":1,"port":"abc","queueCapacity":7,"overflow":"maybe"}',
    )
    expect(settings.port).toBe(5292)
    expect(settings.overflow).toBe('truncate')
    expect(settings.queueCapacity).toBe(7)
    expect(notices).toEqual([
      "The setting 'port' must be a whole number between 1 and 65535; its default is used.",
      "The setting 'overflow' must be 'truncate' or 'reject'; its default is used.",
    ])
  })

  test.each([
    ['', 'not valid JSON'],
    ['{"port":', 'not valid JSON'],
    ['[]', 'does not hold an object'],
    ['null', 'does not hold an object'],
    ['5', 'does not hold an object'],
  ])('%j: defaults and a sentence', (text, why) => {
    const { settings, notices } = parseSettings(text)
    expect(settings).toEqual(DEFAULT_SETTINGS)
    expect(notices).toHaveLength(1)
    expect(notices[0]).toContain(why)
  })

  test('a file without a version is of version 0; one of the future keeps what is known', () => {
    expect(parseSettings('{"port":6001}').settings.port).toBe(6001)
    const future = parseSettings('{"version":99,"port":6002,"hologram":true}')
    expect(future.settings.port).toBe(6002)
    expect(future.notices[0]).toContain('newer version')
    expect(future.settings).not.toHaveProperty('hologram')
  })

  test('names of the object prototype are not settings', () => {
    const { settings } = parseSettings('{"__proto__":{"port":1},"constructor":2}')
    expect(settings).toEqual(DEFAULT_SETTINGS)
    expect(Object.getPrototypeOf(settings)).toBe(Object.prototype)
  })
})

describe('applyPatch', () => {
  test('tells what changed and whether a restart is due', () => {
    const applied = applyPatch(DEFAULT_SETTINGS, { port: 6000, queueCapacity: 32 })
    expect(applied.changed).toEqual(['port'])
    expect(applied.restart).toBe(true)
    expect(applied.settings).toEqual({ ...DEFAULT_SETTINGS, port: 6000 })
    expect(applyPatch(DEFAULT_SETTINGS, { engine: 'cpu' }).restart).toBe(false)
    expect(applyPatch(DEFAULT_SETTINGS, {}).changed).toEqual([])
  })

  test('every bad field is named and nothing is applied', () => {
    const error = refusal({ port: 0, allowedOrigins: ['*'], keepWarm: 'yes', checkpoint: 'english' })
    expect(error.code).toBe('invalid_setting')
    expect(error.message).toBe("The setting 'port' must be a whole number between 1 and 65535 (and 2 more).")
    expect(error.details.errors?.map((e) => e.parameter)).toEqual(['port', 'allowedOrigins', 'keepWarm'])
  })

  test.each([
    [{ hologram: true }, "'hologram' is not a setting"],
    [{ port: 80.5 }, 'whole number'],
    [{ port: Number.NaN }, 'whole number'],
    [{ allowedOrigins: ['http://a.example/path'] }, 'exact origin'],
    [{ allowedOrigins: ['null'] }, 'exact origin'],
    [{ allowedOrigins: ['HTTP://A.example'] }, 'exact origin'],
    [{ hubEndpoint: 'file:///etc/passwd' }, 'http or https'],
    [{ token: '' }, 'visible ASCII'],
    [{ token: 'a b' }, 'visible ASCII'],
    [{ token: 'ключ' }, 'visible ASCII'],
    [{ tokenSet: true }, 'is not a setting'],
    [{ engine: 'cuda' }, "'coreml'"],
  ])('%j is refused', (patch, words) => {
    expect(refusal(patch).message).toContain(words)
  })

  test.each([null, 5, 'port', [1]])('%j is no patch', (patch) => {
    expect(refusal(patch).code).toBe('invalid_setting')
  })

  test('a browser extension is an origin', () => {
    const { settings } = applyPatch(DEFAULT_SETTINGS, {
      allowedOrigins: ['chrome-extension://abcdefghijklmnop'],
    })
    expect(settings.allowedOrigins).toEqual(['chrome-extension://abcdefghijklmnop'])
  })
})

test('the token never leaves', () => {
  const shown = publicSettings({ ...DEFAULT_SETTINGS, token: 'secret' })
  expect(shown.tokenSet).toBe(true)
  expect(JSON.stringify(shown)).not.toContain('secret')
  expect(publicSettings(DEFAULT_SETTINGS).tokenSet).toBe(false)
})
