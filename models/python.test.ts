import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { type Json, JsonNumber, parseJson } from './json.ts'
import { pythonEqualityKey, pythonRepr, pythonStr, pythonStrip } from './python.ts'
import { createRandom } from './random.ts'

const hasPython = spawnSync('python3', ['--version']).status === 0

/** Runs an expression of `x` in Python over a list of values. */
function inPython(expression: string, values: unknown): unknown[] {
  const program = `import json,sys\nprint(json.dumps([${expression} for x in json.load(sys.stdin)]))`
  const run = spawnSync('python3', ['-c', program], { input: JSON.stringify(values), maxBuffer: 1 << 28 })
  return JSON.parse(run.stdout.toString())
}

describe('repr', () => {
  it.each([
    ['"bogus"', "'bogus'"],
    ['""', "''"],
    ['"it\'s"', '"it\'s"'],
    ['"say \\"hi\\""', '\'say "hi"\''],
    ['"it\'s \\"x\\""', "'it\\'s \"x\"'"],
    ['"a\\\\b"', "'a\\\\b'"],
    ['"\\n\\r\\t\\u0000\\u001b\\u007f"', "'\\n\\r\\t\\x00\\x1b\\x7f'"],
    ['"\\u0085\\u00a0\\u00ad"', "'\\x85\\xa0\\xad'"],
    ['"\\u2028\\u200b\\ufeff\\u3000"', "'\\u2028\\u200b\\ufeff\\u3000'"],
    ['"é日😀"', "'é日😀'"],
    ['"\\udb40\\udc41"', "'\\U000e0041'"],
    ['5', '5'],
    ['2.0', '2.0'],
    ['1e999', 'inf'],
    ['-1e999', '-inf'],
    ['1E2', '100.0'],
    ['true', 'True'],
    ['null', 'None'],
    ['["a",1,{"k":[false,null]}]', "['a', 1, {'k': [False, None]}]"],
  ])('of %s is %s', (json, repr) => {
    expect(pythonRepr(parseJson(json))).toBe(repr)
  })

  it.skipIf(!hasPython)('equals Python on random strings', () => {
    const random = createRandom(3)
    const strings = Array.from({ length: 2000 }, () =>
      Array.from({ length: random.integer(8) }, () =>
        random.pick([
          () =>
            random.pick([
              "'",
              '"',
              '\\',
              '\n',
              ' ',
              '\u00ad',
              '\u200d',
              '\ufeff',
              '😀',
              '\ue000',
              '\u{1f469}',
            ]),
          () => String.fromCharCode(random.integer(0x250)),
          () => String.fromCharCode(0x2000 + random.integer(0x70)),
        ])(),
      ).join(''),
    )
    expect(strings.map(pythonRepr)).toEqual(inPython('repr(x)', strings))
  })

  it('of a string is the string itself under str', () => {
    expect(pythonStr("it's")).toBe("it's")
    expect(pythonStr(true)).toBe('True')
    expect(pythonStr(new JsonNumber('1e999'))).toBe('inf')
  })
})

describe('strip', () => {
  it.each([
    ['  a b \n', 'a b'],
    ['\u001c\u0085\u00a0x\u3000\u2029', 'x'],
    ['\ufeffx\u200b', '\ufeffx\u200b'],
    [' \t ', ''],
  ])('of %j is %j', (text, stripped) => {
    expect(pythonStrip(text)).toBe(stripped)
  })

  it.skipIf(!hasPython)('removes the same characters as Python', () => {
    const characters = Array.from({ length: 0xd800 }, (_, code) => String.fromCharCode(code))
    const gone = characters.map((character) => pythonStrip(character) === '')
    expect(gone).toEqual(inPython('x.strip() == ""', characters))
  })
})

describe('equality of labels', () => {
  const key = (json: string): string =>
    pythonEqualityKey(parseJson(json) as Exclude<Json, Json[] | Map<string, Json>>)

  it.each([
    ['1', '1.0', true],
    ['1', 'true', true],
    ['0', 'false', true],
    ['-0.0', '0', true],
    ['1e2', '100', true],
    ['1e22', '10000000000000000000000', true],
    ['1e23', '100000000000000000000000', false],
    ['9007199254740993', '9007199254740993.0', false],
    ['1e999', '2e999', true],
    ['1', '"1"', false],
    ['"True"', 'true', false],
    ['0.1', '0.10', true],
    ['"a"', '"A"', false],
  ])('%s and %s: %s', (left, right, equal) => {
    expect(key(left) === key(right)).toBe(equal)
  })
})
