import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import { CATALOGUE, nameOf, problemDocument, publicError, refuseAll, statusOf } from './errors.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

function sources(): string[] {
  return ['models', 'electron', 'bench'].flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(`${root}/${folder}/${file}`, 'utf8')),
  )
}

describe('the catalogue', () => {
  it('holds the status codes of the wire contract', () => {
    const wire = Object.entries(CATALOGUE).flatMap(([code, { status }]) =>
      status === null ? [] : `${status} ${code}`,
    )
    expect(wire).toEqual(
      `400 malformed_request
      400 unknown_model
      400 model_not_loaded
      400 stream_not_supported
      400 max_tokens_exceeded
      401 unauthorized
      403 forbidden_host
      403 forbidden_origin
      404 not_found
      405 method_not_allowed
      408 request_timeout
      413 too_large
      413 too_many_questions
      413 too_many_options
      413 too_many_levels
      413 too_many_states
      413 state_too_large
      413 state_too_long
      413 question_too_long
      415 unsupported_media_type
      422 invalid_question
      422 invalid_parameter
      431 headers_too_large
      500 inference_failed
      500 internal_error
      503 not_ready
      503 overloaded
      504 inference_timeout`.split(/\n\s*/),
    )
  })

  it('knows every code that the program throws', () => {
    const thrown = sources().flatMap((text) =>
      [...text.matchAll(/(?:new LayaError\(|super\()\s*'([a-z]+(?:_[a-z]+)*)'/g)].map(([, code]) => code),
    )
    expect(thrown.length).toBeGreaterThan(20)
    expect(thrown.filter((code) => !Object.hasOwn(CATALOGUE, code!))).toEqual([])
  })
})

describe('a problem document', () => {
  const faults = [
    { question: 'q2', field: 'type', detail: "unknown type 'bogus'" },
    { question: 'q7', field: 'criteria', detail: 'a choice needs at least one option' },
  ]

  it('names every fault, and repeats its sentence as the twin', () => {
    const error = refuseAll(
      'invalid_question',
      faults,
      ({ question, detail }) => `question '${question}': ${detail}`,
    )
    const detail = "question 'q2': unknown type 'bogus' (and 1 more)"
    expect(JSON.parse(problemDocument(error, 'abc'))).toEqual({
      type: 'urn:laya:problem:invalid-question',
      title: 'A question cannot be answered as asked',
      status: 422,
      code: 'invalid_question',
      detail,
      instance: 'urn:request:abc',
      errors: faults,
      error: { code: 422, message: detail },
    })
  })

  it('joins cause and next step to one sentence', () => {
    const error = new LayaError('inference_failed', 'inference failed.', { hint: 'Send the request again.' })
    expect(JSON.parse(problemDocument(error, 'abc')).detail).toBe('inference failed; send the request again')
    const named = new LayaError('not_ready', 'loading', { hint: 'GPU graphs are being compiled' })
    expect(JSON.parse(problemDocument(named, 'abc')).detail).toBe('loading; GPU graphs are being compiled')
  })

  it('carries limits and extras', () => {
    const error = new LayaError('overloaded', 'full', { limit: 1, actual: 2, extras: { queue_depth: 32 } })
    expect(JSON.parse(problemDocument(error, 'abc'))).toMatchObject({ limit: 1, actual: 2, queue_depth: 32 })
  })
})

describe('what the world may know', () => {
  it.each([
    ['a fault of ours', new TypeError('cannot read /home/someone/x')],
    ['a code without a status', new LayaError('disk_full', 'no space in /home/someone')],
    ['a code nobody knows', new LayaError('mystery', 'secret')],
    ['a name of Object.prototype', new LayaError('constructor', 'secret')],
    ['anything else', 'text'],
  ])('%s is an internal error without details', (_, thrown) => {
    const error = publicError(thrown, 'abc')
    expect(statusOf(error.code)).toBe(500)
    expect(error.message).toBe('internal error; the log line is abc')
    expect(error.cause).toBe(thrown)
  })

  it('is the sentence of a refusal', () => {
    const refusal = new LayaError('too_large', 'request body too large (limit 2097152 bytes)')
    expect(publicError(refusal, 'abc')).toBe(refusal)
  })
})

it('repeats a name whole where it can be an id, and cuts what cannot', () => {
  expect(nameOf('🙂'.repeat(128))).toBe('🙂'.repeat(128))
  expect(Array.from(nameOf('🙂'.repeat(129)))).toHaveLength(129)
  expect(nameOf('a'.repeat(1_000_000))).toHaveLength(129)
})
