// Longer than usual: reader and writers stand side by side because they share one tree and one set of rules.
/// <reference lib="es2024.string" />
import { createScanner, type JSONScanner } from 'jsonc-parser'
import { excerpt, LayaError } from './errors.ts'

/** A number as it was written: the model's text depends on `2.0` not being `2`. */
export class JsonNumber {
  constructor(readonly literal: string) {}
}

/** Order-preserving, lossless JSON. Objects are Maps: insertion order, first position and last value of a duplicate. */
export type Json = null | boolean | string | JsonNumber | Json[] | JsonObject
export type JsonObject = Map<string, Json>

/** What `writeJson` writes. Objects are Maps only: a plain object would move integer-like keys to the front. */
export type Writable =
  | null
  | boolean
  | string
  | number
  | JsonNumber
  | readonly Writable[]
  | ReadonlyMap<string, Writable>

type Container = Json[] | JsonObject
type Expectation = 'value' | 'value or ]' | 'name' | 'name or }' | 'comma or end' | 'nothing'

// jsonc-parser declares its kinds as ambient const enums, which isolated modules cannot import.
const Token = {
  openBrace: 1,
  closeBrace: 2,
  openBracket: 3,
  closeBracket: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  string: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  end: 17,
} as const
const scanFaults = [
  '',
  'unexpected comment',
  'unterminated string',
  'unfinished number',
  'invalid escape in the string',
  'invalid escape in the string',
  'control character in the string',
]

export interface ParseOptions {
  /** Containers inside containers; the root is level 1. */
  maxDepth?: number
  /** Digits of one integer literal. Python's own limit. */
  maxIntegerDigits?: number
  /** How the sentences call the text. */
  subject?: string
  /** Refuse a member name that occurs twice instead of keeping the last value. */
  uniqueNames?: boolean
}

export const emptyBody = "request body is empty; send a JSON object with 'state' and 'questions'"

/**
 * Reads JSON text (RFC 8259, nothing more) without losing order or number text. Iterative: depth never touches the
 * call stack.
 * @throws LayaError `malformed_request`: syntax with line and column, depth, integer length, unpaired surrogates
 * with their path.
 */
export function parseJson(text: string, options: ParseOptions = {}): Json {
  const { maxDepth = 64, maxIntegerDigits = 4300, subject = 'request body', uniqueNames = false } = options
  const scanner = createScanner(text)
  const open: Container[] = []
  // The member being read in each open object; unused where a list is open.
  const names: string[] = []
  let root: Json | undefined
  let expected = 'value' as Expectation

  const refuse = (what: string): never => {
    throw new LayaError('malformed_request', what)
  }
  const unexpected = (what = describe(scanner, text)): never =>
    refuse(`${subject} must be valid JSON: ${what} at ${position(text, scanner.getTokenOffset())}`)
  const next = (): number => {
    // White space is skipped here: the scanner would collect it character by character.
    let at = scanner.getPosition()
    while (isSpace(text.charCodeAt(at))) at++
    scanner.setPosition(at)
    const token: number = scanner.scan()
    if (scanner.getTokenError() !== 0) unexpected(scanFaults[scanner.getTokenError()])
    return token
  }
  const wellFormed = (value: string, place: () => string): string =>
    value.isWellFormed()
      ? value
      : refuse(
          `${subject} contains an unpaired surrogate escape at ${place()}; those cannot be encoded as UTF-8`,
        )
  const add = (value: Json): void => {
    const parent = open.at(-1)
    if (parent === undefined) root = value
    else if (Array.isArray(parent)) parent.push(value)
    else parent.set(names[open.length - 1]!, value)
    expected = parent === undefined ? 'nothing' : 'comma or end'
  }
  const enter = (container: Container): void => {
    if (open.length >= maxDepth) refuse(`${subject} is nested deeper than ${maxDepth} levels`)
    open.push(container)
    expected = Array.isArray(container) ? 'value or ]' : 'name or }'
  }
  const leave = (): void => {
    add(open.pop()!)
  }
  const readName = (): void => {
    const name = wellFormed(
      scanner.getTokenValue(),
      () => `a member name of ${path(open.slice(0, -1), names)}`,
    )
    if (uniqueNames && (open.at(-1) as JsonObject).has(name))
      unexpected(`duplicate member '${excerpt(name)}'`)
    names[open.length - 1] = name
    if (next() !== Token.colon) unexpected()
    expected = 'value'
  }
  const readNumber = (): JsonNumber => {
    const literal = scanner.getTokenValue()
    if (literal.length > maxIntegerDigits && integerDigits(literal) > maxIntegerDigits) {
      refuse(`integer literal longer than ${maxIntegerDigits} digits`)
    }
    return new JsonNumber(literal)
  }
  const readValue = (token: number): void => {
    if (token === Token.string) add(wellFormed(scanner.getTokenValue(), () => path(open, names)))
    else if (token === Token.number) add(readNumber())
    else if (token === Token.openBrace) enter(new Map())
    else if (token === Token.openBracket) enter([])
    else if (token === Token.true || token === Token.false) add(token === Token.true)
    else if (token === Token.null) add(null)
    else unexpected()
  }

  for (;;) {
    const token = next()
    if (expected === 'nothing') {
      if (token === Token.end) return root!
      unexpected()
    } else if (expected === 'comma or end') {
      const list = Array.isArray(open.at(-1))
      if (token === Token.comma) expected = list ? 'value' : 'name'
      else if (token === (list ? Token.closeBracket : Token.closeBrace)) leave()
      else unexpected()
    } else if (expected === 'name' || expected === 'name or }') {
      if (token === Token.string) readName()
      else if (token === Token.closeBrace && expected === 'name or }') leave()
      else unexpected()
    } else if (token === Token.closeBracket && expected === 'value or ]') leave()
    else if (token === Token.end && open.length === 0) refuse(emptyBody)
    else readValue(token)
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

function describe(scanner: JSONScanner, text: string): string {
  const token: number = scanner.getToken()
  if (token === Token.end) return 'unexpected end'
  if (token === Token.string) return 'unexpected string'
  if (token === Token.lineComment || token === Token.blockComment) return 'unexpected comment'
  const start = scanner.getTokenOffset()
  return `unexpected '${excerpt(text.slice(start, start + scanner.getTokenLength()))}'`
}

/** Line and column count from 1; a column is a code point. */
function position(text: string, offset: number): string {
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const line = before.split('\n').length
  return `line ${line}, column ${Array.from(before.slice(lineStart)).length + 1}`
}

function path(open: Container[], names: string[]): string {
  const steps = open.map((container, level) =>
    Array.isArray(container) ? `[${container.length}]` : `.${names[level]}`,
  )
  return excerpt(steps.join('').replace(/^\./, '')) || 'the top level'
}

function integerDigits(literal: string): number {
  return /^-?\d+$/.test(literal) ? literal.replace('-', '').length : 0
}

/**
 * The model's text of a value: exactly Python's `json.dumps(value, ensure_ascii=False)`, numbers by their literal.
 */
export function pythonText(json: Json): string {
  if (json instanceof JsonNumber) return pythonNumber(json.literal)
  if (Array.isArray(json)) return `[${json.map(pythonText).join(', ')}]`
  if (json instanceof Map) {
    return `{${Array.from(json, ([name, value]) => `${JSON.stringify(name)}: ${pythonText(value)}`).join(', ')}}`
  }
  // JSON.stringify escapes strings as Python does; only unpaired surrogates differ, and no parsed text has any.
  return JSON.stringify(json)
}

/** A number literal as Python prints the value it reads from it. Floats that overflow give `Infinity`. */
export function pythonNumber(literal: string): string {
  if (/^-?\d+$/.test(literal)) return literal === '-0' ? '0' : literal
  return pythonFloat(Number(literal))
}

/** Python's `repr` of a double, with JSON's names for infinity. Source: CPython `float_repr_style` "short". */
export function pythonFloat(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa, power] = Math.abs(value).toExponential().split('e') as [string, string]
  const digits = mantissa.replace('.', '')
  const exponent = Number(power)
  if (exponent < -4 || exponent >= 16) {
    const width = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${width}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

/**
 * Standard compact JSON with members in Map order.
 * @throws LayaError `internal_error` for a number that JSON cannot express: a reply never holds null for a number.
 */
export function writeJson(value: Writable): string {
  if (value instanceof JsonNumber) return value.literal
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new LayaError('internal_error', `a reply would have contained the number ${value}`)
  }
  if (isList(value)) return `[${value.map(writeJson).join(',')}]`
  if (value instanceof Map) {
    return `{${Array.from(value, ([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

function isList(value: Writable): value is readonly Writable[] {
  return Array.isArray(value)
}
