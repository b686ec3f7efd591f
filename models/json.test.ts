import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { LayaError } from './errors.ts'
import { type Json, JsonNumber, parseJson, pythonText, type Writable, writeJson } from './json.ts'
import { createRandom, type Random } from './random.ts'

const data = new URL('../e2e/data/', import.meta.url)

describe('the text the model reads', () => {
  const { cases } = JSON.parse(readFileSync(new URL('json-text.json', data), 'utf8')) as {
    cases: { json: string; text: string }[]
  }

  it.each(cases)('prints $json as Python does', ({ json, text }) => {
    expect(pythonText(parseJson(json))).toBe(text)
  })

  const python = spawnSync('python3', ['--version']).status === 0
  it.skipIf(!python)('equals json.dumps on 500 random states', () => {
    const random = createRandom(20260918)
    const states = Array.from({ length: 500 }, () => randomText(random, 0))
    const program =
      'import json,sys\nprint(json.dumps([json.dumps(json.loads(t), ensure_ascii=False) for t in json.load(sys.stdin)]))'
    const run = spawnSync('python3', ['-c', program], { input: JSON.stringify(states), maxBuffer: 1 << 28 })
    const expected = JSON.parse(run.stdout.toString()) as string[]
    expect(expected).toHaveLength(500)
    states.forEach((state, index) => {
      expect(pythonText(parseJson(state)), state).toBe(expected[index])
    })
  })

  it('survives its own printing: parsing the text again gives the same text', () => {
    const random = createRandom(7)
    for (let index = 0; index < 200; index++) {
      const text = pythonText(parseJson(randomText(random, 0)))
      expect(pythonText(parseJson(text.replaceAll('Infinity', '0')))).toBe(text.replaceAll('Infinity', '0'))
    }
  })
})

/** JSON text in all the ways it can be written: white space, escapes, duplicate names, odd number forms. */
function randomText(random: Random, depth: number): string {
  const space = (): string => random.pick(['', '', '', ' ', '\n', '\t ', '\r\n'])
  const list = (item: () => string): string =>
    Array.from({ length: random.integer(5) }, () => space() + item() + space()).join(',')
  const kind = random.integer(depth > 5 ? 4 : 7)
  if (kind === 0) return random.pick(['true', 'false', 'null'])
  if (kind <= 2) return randomNumber(random)
  if (kind === 3) return randomString(random)
  if (kind === 4) return `[${list(() => randomText(random, depth + 1))}]`
  return `{${list(() => `${randomString(random)}${space()}:${space()}${randomText(random, depth + 1)}`)}}`
}

function randomNumber(random: Random): string {
  const digits = (count: number): string => Array.from({ length: count }, () => random.integer(10)).join('')
  const whole = random.integer(3) === 0 ? '0' : `${1 + random.integer(9)}${digits(random.integer(20))}`
  const fraction = random.integer(2) === 0 ? '' : `.${digits(1 + random.integer(18))}`
  const exponent =
    random.integer(3) > 0 ? '' : random.pick(['e', 'E']) + random.pick(['', '+', '-']) + random.integer(330)
  return random.pick(['', '', '-']) + whole + fraction + exponent
}

function randomString(random: Random): string {
  const parts = Array.from({ length: random.integer(8) }, () =>
    random.pick(
      // Names from a small set collide often: duplicates keep the first position and the last value.
      [
        'a',
        'b',
        '10',
        '2',
        '__proto__',
        ' ',
        'é',
        '日',
        '😀',
        '\u0085',
        '\u2028',
        '\u007f',
        '/',
        "'",
        '\\/',
      ].concat([
        '\\"',
        '\\\\',
        '\\b',
        '\\f',
        '\\n',
        '\\r',
        '\\t',
        '\\u0000',
        '\\u001F',
        '\\u00e9',
        '\\ud83d\\ude00',
      ]),
    ),
  )
  return `"${parts.join('')}"`
}

describe('reading', () => {
  const code = (text: string): string => {
    try {
      parseJson(text)
    } catch (error) {
      if (error instanceof LayaError) return `${error.code}: ${error.message}`
      throw error
    }
    return 'accepted'
  }
  const syntax = 'malformed_request: request body must be valid JSON: '

  it.each([
    ['{x', "unexpected 'x' at line 1, column 2"],
    ['{"a":1,}', "unexpected '}' at line 1, column 8"],
    ['[1,]', "unexpected ']' at line 1, column 4"],
    ['[1\n,2\n  é😀]', "unexpected 'é😀' at line 3, column 3"],
    ['["é😀" 1]', "unexpected '1' at line 1, column 7"],
    ['1 2', "unexpected '2' at line 1, column 3"],
    ['{"a":1}}', "unexpected '}' at line 1, column 8"],
    ['{"a" 1}', "unexpected '1' at line 1, column 6"],
    ['{"a":}', "unexpected '}' at line 1, column 6"],
    ['{"a"', 'unexpected end at line 1, column 5'],
    ['[', 'unexpected end at line 1, column 2'],
    ['["a" "b"]', 'unexpected string at line 1, column 6'],
    ["{'a':1}", "unexpected ''a'' at line 1, column 2"],
    ['// c\n1', 'unexpected comment at line 1, column 1'],
    ['[1/* c */]', 'unexpected comment at line 1, column 3'],
    ['[1/* c ]', 'unexpected comment at line 1, column 3'],
    ['NaN', "unexpected 'NaN' at line 1, column 1"],
    ['[Infinity]', "unexpected 'Infinity' at line 1, column 2"],
    ['-Infinity', "unexpected '-' at line 1, column 1"],
    ['tru', "unexpected 'tru' at line 1, column 1"],
    ['01', "unexpected '1' at line 1, column 2"],
    ['+1', "unexpected '+1' at line 1, column 1"],
    ['.5', "unexpected '.5' at line 1, column 1"],
    ['1.', 'unfinished number at line 1, column 1'],
    ['[1e]', 'unfinished number at line 1, column 2'],
    ['"abc', 'unterminated string at line 1, column 1'],
    ['"a\nb"', 'unterminated string at line 1, column 1'],
    ['"a\u0001b"', 'control character in the string at line 1, column 1'],
    ['"\\x41"', 'invalid escape in the string at line 1, column 1'],
    ['"\\u12g4"', 'invalid escape in the string at line 1, column 1'],
    ['\u00a01', "unexpected '\u00a01' at line 1, column 1"],
    ['{\u0000', "unexpected '\\u0000' at line 1, column 2"],
    [`[${'z'.repeat(100)}]`, `unexpected '${'z'.repeat(64)}…' at line 1, column 2`],
  ])('refuses %j', (text, sentence) => {
    expect(code(text)).toBe(syntax + sentence)
  })

  it('refuses empty and blank text with what to send', () => {
    const sentence =
      "malformed_request: request body is empty; send a JSON object with 'state' and 'questions'"
    expect(code('')).toBe(sentence)
    expect(code(' \r\n\t')).toBe(sentence)
  })

  it('refuses unpaired surrogates with their path and joins pairs', () => {
    const at = (place: string): string =>
      `malformed_request: request body contains an unpaired surrogate escape at ${place}; those cannot be encoded as UTF-8`
    expect(code('{"questions":{"q":{"instructions":"\\udc00"}}}')).toBe(at('questions.q.instructions'))
    expect(code('{"states":["a",{"b":[[],"\\ud83d"]}]}')).toBe(at('states[1].b[1]'))
    expect(code('{"a":{"\\ud83dx":1}}')).toBe(at('a member name of a'))
    expect(code('{"\\udfff":1}')).toBe(at('a member name of the top level'))
    expect(code('"\\ude00\\ud83d"')).toBe(at('the top level'))
    expect(code('{"a":[1],"b":"\ud800"}')).toBe(at('b'))
    expect(parseJson('"\\uD83D\\uDE00"')).toBe('😀')
  })

  it('bounds depth before anything can overflow', () => {
    const deep = 'malformed_request: request body is nested deeper than 64 levels'
    expect(code('['.repeat(64) + ']'.repeat(64))).toBe('accepted')
    expect(code('['.repeat(65) + ']'.repeat(65))).toBe(deep)
    expect(code('['.repeat(1_000_000))).toBe(deep)
    expect(code('{"a":'.repeat(1_000_000))).toBe(deep)
    expect(code('[{"a":'.repeat(40))).toBe(deep)
    expect(() => parseJson('[[[]]]', { maxDepth: 2 })).toThrow('nested deeper than 2 levels')
  })

  it('bounds integer literals, not floats', () => {
    const long = 'malformed_request: integer literal longer than 4300 digits'
    expect(code(`-${'7'.repeat(4300)}`)).toBe('accepted')
    expect(code('7'.repeat(4301))).toBe(long)
    expect(code(`[-${'7'.repeat(4301)}]`)).toBe(long)
    expect(code(`${'7'.repeat(5000)}.5`)).toBe('accepted')
  })

  it('keeps order, the text of numbers, and names that are special in JavaScript', () => {
    const tree = parseJson('{"10":1.0,"2":[],"__proto__":{"toString":null},"10":2e1}') as Map<string, Json>
    expect([...tree.keys()]).toEqual(['10', '2', '__proto__'])
    expect(tree.get('10')).toEqual(new JsonNumber('2e1'))
    expect((tree.get('__proto__') as Map<string, Json>).get('toString')).toBeNull()
    expect(tree.get('constructor')).toBeUndefined()
  })

  it('refuses a repeated name where the caller wants names to be unique', () => {
    const text = '{"a":{"x":1},"b":{"x":1},"a":2}'
    expect(() => parseJson(text, { uniqueNames: true, subject: 'header' })).toThrow(
      "header must be valid JSON: duplicate member 'a' at line 1, column 26",
    )
  })
})

describe('writing replies', () => {
  it('writes members in order, numbers as they are, and nothing else', () => {
    const reply = new Map<string, Writable>([
      ['10', 0.25],
      ['2', new JsonNumber('149.0')],
      ['__proto__', [null, true, 'é\n"\u2028']],
      ['toJSON', new Map()],
      ['tiny', 1e-7],
    ])
    const text = writeJson(reply)
    expect(text).toBe('{"10":0.25,"2":149.0,"__proto__":[null,true,"é\\n\\"\u2028"],"toJSON":{},"tiny":1e-7}')
    expect(pythonText(parseJson(text))).toContain('"2": 149.0')
  })

  it('never writes a number JSON cannot hold', () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(() => writeJson(new Map([['noul', value]]))).toThrow(LayaError)
    }
  })
})
