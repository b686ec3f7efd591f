import { describe, expect, it } from 'vitest'
import type { LayaError } from '../../models/errors.ts'
import { dialectOf, resolveModel } from './dialect.ts'

const installed = [
  { name: 'laya-demo', aliases: ['demo'] },
  { name: 'english', aliases: ['en', 'laya-english'] },
  { name: 'mine', aliases: [] },
]

function refusal(model: string, among = installed): LayaError {
  try {
    resolveModel(model, among)
  } catch (error) {
    return error as LayaError
  }
  throw new Error(`'${model}' was accepted`)
}

describe('the model name picks checkpoint and dialect', () => {
  it.each(['laya', 'default', 'auto', 'laya-bar', 'laya-rl-agent', 'convaiinnovations/laya'])(
    '%s: the resident one',
    (model) => {
      expect(resolveModel(model, installed)).toEqual({
        dialect: 'laya',
        checkpoint: null,
        reason: `resident checkpoint (alias '${model}')`,
      })
    },
  )

  it('none: the resident one', () => {
    expect(resolveModel(null, installed)).toEqual({
      dialect: 'laya',
      checkpoint: null,
      reason: 'resident checkpoint (no model named)',
    })
  })

  it.each([
    ['english', 'english'],
    ['en', 'english'],
    ['laya-english', 'english'],
    ['demo', 'laya-demo'],
    ['mine', 'mine'],
  ])('%s: that one, and the reason begins as system1-agents wants it', (model, name) => {
    expect(resolveModel(model, installed)).toEqual({
      dialect: 'laya',
      checkpoint: name,
      reason: `explicit model='${name}'`,
    })
  })

  it.each(['jev-latest', 'jev-preview', 'jev-1.13.0', 'jev-a', 'typesafe/jev-latest', 'typesafe/jev-2-x.1'])(
    '%s: the resident one in the hosted shape',
    (model) => expect(resolveModel(model, installed)).toMatchObject({ dialect: 'jev', checkpoint: null }),
  )

  it.each([
    '',
    'jev',
    'jev-',
    'JEV-LATEST',
    'Jev-latest',
    'jev-lat est',
    'jev-latest\n',
    'jev_latest',
    'typesafe/laya',
    'typesafe/jev',
    'English',
    'LAYA',
    'toString',
    '__proto__',
  ])("'%s' is nobody's name", (model) => {
    expect(refusal(model).code).toBe('unknown_model')
    expect(dialectOf(model)).toBe('laya')
  })
})

describe('an unknown name', () => {
  it('is told which names there are', () => {
    const { message, details } = refusal('x', [installed[0]!])
    expect(message).toBe(
      "unknown model 'x'; installed: laya-demo; aliases: laya, default, auto, jev-latest, jev-preview",
    )
    expect(details.extras).toEqual({
      models: ['laya-demo', 'laya', 'default', 'auto', 'jev-latest', 'jev-preview'],
    })
  })

  it('of a published checkpoint is told that it is not installed', () => {
    for (const model of ['multilingual', 'ml', 'convaiinnovations/laya-multilingual']) {
      expect(refusal(model).message).toBe(
        "'multilingual' is not installed; installed: laya-demo, english, mine; other names: laya, default, auto, jev-latest, jev-preview",
      )
    }
  })

  it('is cut and escaped in the sentence', () => {
    expect(refusal(`\n${'x'.repeat(100_000)}`).message).toMatch(/^unknown model '\\nx{63}…'; /)
  })
})
