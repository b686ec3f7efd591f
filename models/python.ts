import { type Json, JsonNumber, pythonNumber } from './json.ts'

/**
 * Python's `repr` of a JSON value: how the reference shows caller data in its sentences. Strings in single quotes,
 * or in double quotes when they hold `'` and no `"`.
 */
export function pythonRepr(json: Json): string {
  if (json === null) return 'None'
  if (typeof json === 'boolean') return json ? 'True' : 'False'
  if (typeof json === 'string') return reprOfString(json)
  if (json instanceof JsonNumber) return pythonNumber(json.literal).replace('Infinity', 'inf')
  if (Array.isArray(json)) return `[${json.map(pythonRepr).join(', ')}]`
  return `{${Array.from(json, ([name, value]) => `${reprOfString(name)}: ${pythonRepr(value)}`).join(', ')}}`
}

/** Python's `str` of a JSON value: a string as it is, anything else as `repr`. */
export function pythonStr(json: Json): string {
  return typeof json === 'string' ? json : pythonRepr(json)
}

// Python calls these unprintable: all separators but the space, and the categories Cc, Cf, Cs, Co and Cn.
const unprintable = /(?! )[\p{C}\p{Z}]/gu
const named: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function reprOfString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)
  const body = escaped.replace(unprintable, (character) => {
    const code = character.codePointAt(0)!
    const hex = code.toString(16)
    if (named[character] !== undefined) return named[character]
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`
  })
  return quote + body + quote
}

// What `str.strip` removes. JavaScript's trim would keep U+001C to U+001F and U+0085, and remove U+FEFF.
const space = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const outerSpace = new RegExp(`^${space}+|${space}+$`, 'g')

/** Python's `str.strip()`. */
export function pythonStrip(text: string): string {
  return text.replace(outerSpace, '')
}

/**
 * Text that is equal for two values exactly when Python's `==` (and therefore a dictionary) takes them for the same
 * label: 1, 1.0 and true are one.
 */
export function pythonEqualityKey(label: null | boolean | string | JsonNumber): string {
  if (label === null) return 'None'
  if (typeof label === 'string') return `text ${label}`
  if (typeof label === 'boolean') return `number ${label ? 1 : 0}`
  if (/^-?\d+$/.test(label.literal)) return `number ${BigInt(label.literal)}`
  const value = Number(label.literal)
  // A whole float equals the integer of its exact value, however large.
  return `number ${Number.isInteger(value) ? BigInt(value) : value}`
}
