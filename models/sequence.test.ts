import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { LayaError } from './errors.ts'
import { type Json, type JsonObject, parseJson } from './json.ts'
import { createQuestion, type Question, type QuestionParts, textOf } from './question.ts'
import { buildRows, type State, type TokenRow } from './sequence.ts'
import { createTokenizer, openTokenizer, type Tokenizer } from './tokenizer.ts'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const data = (path: string): string => file(`../e2e/data/${path}`)
const stateOf = (json: Json): State => ({ text: textOf(json), list: Array.isArray(json) })
const questionOf = (id: string, json: Json): Question =>
  createQuestion({ id, ...Object.fromEntries(json as JsonObject) } as unknown as QuestionParts)

interface GoldenCase {
  name: string
  question_json: string
  state_json: string
  options_total: number
  head_text: string
  option_texts: string[]
  /** Null where the text is long. */
  state_text: string | null
  input_ids: number[]
  markers: number[]
}

describe.each([
  ['laya-demo', file('demo'), 8000, { maxLen: 512, headMaxLen: 192 }],
  ['fixture-multilingual', data('checkpoints/fixture-multilingual'), 4096, { maxLen: 1024, headMaxLen: 256 }],
])('golden requests of %s', (name, folder, vocabSize, window) => {
  const tokenizer = openTokenizer(folder, vocabSize)
  const { cases } = JSON.parse(readFileSync(data(`golden/${name}.json`), 'utf8')) as { cases: GoldenCase[] }

  it.each(cases)('$name', (golden) => {
    const question = questionOf('q', parseJson(golden.question_json))
    const state = stateOf(parseJson(golden.state_json))
    const blank = (text: string): string => text.replaceAll(tokenizer.special.maskString, ' ')
    expect(blank(`${question.type} question: ${question.instructions}`)).toBe(golden.head_text)
    expect(question.options.map(({ text }) => blank(text))).toEqual(golden.option_texts)
    if (golden.state_text !== null) expect(blank(state.text)).toBe(golden.state_text)
    const [row] = buildRows(tokenizer, state, [question], window)
    expect(Array.from(row!.ids)).toEqual(golden.input_ids)
    expect(Array.from(row!.markers)).toEqual(golden.markers)
    expect(row!.options).toBe(golden.options_total)
  })

  it('has them all', () => expect(cases).toHaveLength(50))
})

const modernbert = createTokenizer({
  definition: JSON.parse(readFileSync(data('tokenizers/modernbert/tokenizer.json'), 'utf8')),
  special: { cls: 50281, sep: 50282, pad: 50283, mask: 50284, unk: 50280, maskString: '[MASK]' },
})

describe('published rows of typed-decisions', () => {
  const wide = { maxLen: 1024, headMaxLen: 256 }
  it.each([
    'quickstart',
    'dict_state',
    'nonstring_instructions',
    'mask_injection',
    'many_options',
    'long_state',
  ])('%s', (name) => {
    const golden = parseJson(
      readFileSync(data(`golden/upstream/typed-decisions/${name}.json`), 'utf8'),
    ) as JsonObject
    const questions = Array.from(golden.get('questions') as JsonObject, ([id, json]) => questionOf(id, json))
    const rows = buildRows(modernbert, stateOf(golden.get('state')!), questions, wide)
    const numbers = (json: Json | undefined): number[] => JSON.parse(textOf(json!))
    const expected = golden.get('per_question') as JsonObject[]
    rows.forEach((row, index) => {
      expect(Array.from(row.markers)).toEqual(numbers(expected[index]!.get('markers')))
      const ids = expected[index]!.get('input_ids')
      if (ids !== undefined) expect(Array.from(row.ids)).toEqual(numbers(ids))
    })
    const usage = (golden.get('result') as JsonObject).get('usage') as JsonObject
    const total = (of: (row: TokenRow) => number): number => rows.reduce((sum, row) => sum + of(row), 0)
    expect(total(({ ids }) => ids.length)).toBe(Number(textOf(usage.get('input_tokens')!)))
    expect(rows[0]!.stateTokens).toBe(Number(textOf(usage.get('state_tokens')!)))
    expect(Math.max(...rows.map(({ stateDropped }) => stateDropped))).toBe(
      Number(textOf(usage.get('state_tokens_dropped')!)),
    )
  })

  it('shrinks forty options to six tokens each, markers at 18 + 6i', () => {
    const golden = parseJson(
      readFileSync(data('golden/upstream/typed-decisions/many_options.json'), 'utf8'),
    ) as JsonObject
    const question = questionOf('wide', (golden.get('questions') as JsonObject).get('wide')!)
    const [row] = buildRows(modernbert, stateOf(golden.get('state')!), [question], wide)
    expect(row).toMatchObject({ tokensPerOption: 6, headKept: 16 })
    expect(Array.from(row!.markers)).toEqual(Array.from({ length: 40 }, (_, index) => 18 + 6 * index))
  })
})

describe('published rows of english', () => {
  const window = { maxLen: 512, headMaxLen: 192 }
  const state = { text: 'I was charged twice for my order. Please refund the duplicate today.', list: false }
  const questions = [
    '{"type":"choice","instructions":"Which team should handle this?","criteria":{"billing":"Charges and refunds","technical":"Software problems"}}',
    '{"type":"score","instructions":"How urgent is the request?","criteria":["Not urgent","Needs attention soon","Needs attention immediately"]}',
    '{"type":"noul","instructions":"Does the customer ask for a refund?"}',
  ].map((json, index) => questionOf(String(index), parseJson(json)))

  it('gives the published ids, markers and counts', () => {
    const rows = buildRows(modernbert, state, questions, window)
    expect(rows.map(({ ids }) => ids.length)).toEqual([40, 49, 48])
    expect(rows.map(({ markers }) => Array.from(markers))).toEqual([
      [11, 19],
      [11, 17, 25],
      [14, 24],
    ])
    const question = [
      [
        50281, 22122, 1953, 27, 6758, 2285, 943, 6016, 436, 32, 50282, 50284, 33484, 27, 36355, 265, 285,
        1275, 41748,
      ],
      [50284, 7681, 27, 9107, 3237, 50282],
    ].flat()
    const stateIds = [42, 369, 6636, 7019, 323, 619, 1340, 15, 7764, 23005, 253, 21036, 3063, 15]
    expect(Array.from(rows[0]!.ids)).toEqual([...question, ...stateIds, 50282])
  })

  it('gives 40 tokens for the short state', () => {
    const [row] = buildRows(
      modernbert,
      { text: 'Please refund the duplicate charge.', list: false },
      [questions[2]!],
      window,
    )
    expect(row!.ids).toHaveLength(40)
  })

  it('spends four tokens on each of a hundred options and leaves a hundred to the state', () => {
    const options = Array.from({ length: 100 }, (_, index) => `option number ${index}`)
    const question = questionOf(
      'q',
      new Map<string, Json>([
        ['type', 'choice'],
        ['instructions', 'Which of the hundred options is it, please?'],
        ['criteria', options],
      ]),
    )
    const [row] = buildRows(modernbert, { text: 'the '.repeat(600), list: false }, [question], window)
    expect(row).toMatchObject({ tokensPerOption: 4, headKept: 8 })
    expect(row!.stateTokens - row!.stateDropped).toBe(100)
  })
})

/** Every character is a token; M is the mask string. Lengths can be read off the texts. */
const letters: Tokenizer = {
  special: { cls: 1, sep: 2, pad: 0, mask: 3, unk: 4, maskString: 'M' },
  encode: (text) => Int32Array.from(text, (character) => character.charCodeAt(0)),
}
const choice = (instructions: string, labels: string[], order?: number[]): Question =>
  createQuestion({ id: 'q', type: 'choice', instructions, criteria: labels, ...(order && { order }) })
const rowOf = (question: Question, state: State, window: { maxLen: number; headMaxLen: number }): TokenRow =>
  buildRows(letters, state, [question], window)[0]!
const text = (ids: ArrayLike<number>): string =>
  Array.from(ids, (id) => ['', '<', '|', '#', '?'][id] ?? String.fromCharCode(id)).join('')

describe('edge cases of the assembly', () => {
  const plain = (text: string): State => ({ text, list: false })
  // "choice question: " has 17 characters, an option its marker, a space and its label.

  it('puts head, options and state in their places', () => {
    const row = rowOf(choice('ab', ['x', 'yz']), plain('state'), { maxLen: 100, headMaxLen: 60 })
    expect(text(row.ids)).toBe('<choice question: ab|# x# yz|state|')
    expect(Array.from(row.markers)).toEqual([21, 24])
    expect(row).toMatchObject({
      stateTokens: 5,
      stateDropped: 0,
      headTokens: 19,
      headKept: 19,
      options: 2,
      optionsDistinct: 2,
      tokensPerOption: null,
    })
  })

  it('does not shrink at a budget of exactly 16, and does at 15', () => {
    const question = choice('', ['abcdefgh', 'abcdefgi'])
    const kept = rowOf(question, plain(''), { maxLen: 100, headMaxLen: 36 })
    expect(kept).toMatchObject({ tokensPerOption: null, headKept: 16, optionsDistinct: 2 })
    const shrunk = rowOf(question, plain(''), { maxLen: 100, headMaxLen: 35 })
    // floor((35 − 16) / 2) = 9 of 10 tokens each: the difference is cut off.
    expect(shrunk).toMatchObject({ tokensPerOption: 9, headKept: 17, optionsDistinct: 1 })
    expect(text(shrunk.ids)).toBe('<choice question: |# abcdefg# abcdefg||')
  })

  it('leaves short options alone and gives their tokens to the head', () => {
    const row = rowOf(choice('0123456789', ['x', 'abcdefghijklmnop']), plain(''), {
      maxLen: 100,
      headMaxLen: 30,
    })
    expect(row).toMatchObject({ tokensPerOption: 7, headKept: 20, headTokens: 27 })
    expect(text(row.ids)).toBe('<choice question: 012|# x# abcde||')
  })

  it('never leaves the head less than eight tokens, an option less than four', () => {
    const labels = Array.from({ length: 10 }, (_, index) => `label${index}`)
    const row = rowOf(choice('', labels), plain(''), { maxLen: 100, headMaxLen: 10 })
    expect(row).toMatchObject({ tokensPerOption: 4, headKept: 8, optionsDistinct: 1 })
    expect(text(row.ids)).toBe(`<choice q|${'# la'.repeat(10)}||`)
  })

  it('cuts an option at 48 tokens, the marker not counted', () => {
    const row = rowOf(choice('', ['x'.repeat(60)]), plain(''), { maxLen: 200, headMaxLen: 192 })
    expect(text(row.ids)).toBe(`<choice question: |# ${'x'.repeat(47)}||`)
  })

  it('keeps the start of a state and the end of a list', () => {
    const window = { maxLen: 32, headMaxLen: 192 }
    const string = rowOf(choice('', ['x']), plain('0123456789'), window)
    expect(text(string.ids)).toBe('<choice question: |# x|01234567|')
    const list = rowOf(choice('', ['x']), { text: '0123456789', list: true }, window)
    expect(text(list.ids)).toBe('<choice question: |# x|23456789|')
    for (const row of [string, list]) expect(row).toMatchObject({ stateTokens: 10, stateDropped: 2 })
  })

  it.each([true, false])('drops the whole state without room, list: %s', (list) => {
    const row = rowOf(choice('', ['x']), { text: 'abc', list }, { maxLen: 24, headMaxLen: 192 })
    expect(text(row.ids)).toBe('<choice question: |# x||')
    expect(row).toMatchObject({ stateTokens: 3, stateDropped: 3 })
  })

  it('cuts the last separators at the window', () => {
    const row = rowOf(choice('', ['x']), plain('abc'), { maxLen: 22, headMaxLen: 192 })
    expect(text(row.ids)).toBe('<choice question: |# x')
    expect(row.ids).toHaveLength(22)
  })

  it('writes two separators at the end for an empty state', () => {
    const row = rowOf(choice('', ['x']), plain(''), { maxLen: 100, headMaxLen: 192 })
    expect(text(row.ids)).toBe('<choice question: |# x||')
    expect(row).toMatchObject({ stateTokens: 0, stateDropped: 0 })
  })

  it('reads an empty option as marker and space', () => {
    expect(text(rowOf(choice('', ['']), plain(''), { maxLen: 100, headMaxLen: 192 }).ids)).toContain('|# ||')
  })

  it('counts cls and both separators outside the budget of the question', () => {
    const row = rowOf(choice('i'.repeat(300), ['x', 'y']), plain(''), { maxLen: 512, headMaxLen: 192 })
    expect(row.ids).toHaveLength(192 + 3 + 1)
    expect(row).toMatchObject({ headTokens: 317, headKept: 186 })
  })

  it('puts options into their slots', () => {
    const row = rowOf(choice('', ['a', 'b', 'c'], [2, 0, 1]), plain(''), { maxLen: 100, headMaxLen: 192 })
    expect(text(row.ids)).toBe('<choice question: |# c# a# b||')
    expect(row.order).toEqual([2, 0, 1])
  })

  it('lets no caller write the mask token', () => {
    const row = rowOf(choice('aMb', ['MxM']), plain('MMstate'), { maxLen: 100, headMaxLen: 192 })
    expect(text(row.ids)).toBe('<choice question: a b|#  x |  state|')
  })

  it('tokenizes the state once, whatever the number of questions', () => {
    const seen: string[] = []
    const counting: Tokenizer = {
      ...letters,
      encode(text) {
        seen.push(text)
        return letters.encode(text)
      },
    }
    buildRows(counting, plain('the state'), [choice('a', ['x']), choice('b', ['x'])], {
      maxLen: 99,
      headMaxLen: 99,
    })
    expect(seen.filter((text) => text === 'the state')).toHaveLength(1)
  })
})

describe('markers that do not fit', () => {
  const labels = (count: number): string[] => Array.from({ length: count }, (_, index) => `label ${index}`)
  const refusal = (count: number, window: { maxLen: number; headMaxLen: number }): LayaError | null => {
    try {
      buildRows(letters, { text: 's', list: false }, [choice('', labels(count))], window)
      return null
    } catch (error) {
      return error as LayaError
    }
  }

  it.each([
    [126, 512, 192],
    [254, 1024, 256],
  ])('fits %d options into %d', (count, maxLen, headMaxLen) => {
    expect(refusal(count, { maxLen, headMaxLen })).toBeNull()
    const error = refusal(count + 1, { maxLen, headMaxLen })!
    expect(error.code).toBe('invalid_question')
    expect(error.message).toBe(
      `question 'q': only ${count} of its ${count + 1} option markers fit in max_len=${maxLen} with head_max_len=${headMaxLen} spent on the question; lower head_max_len, raise max_len, or use fewer options`,
    )
  })

  it('lists every such question and counts the others in the sentence', () => {
    const questions = ["it's\n", 'good', 'z'.repeat(80)].map((id) => ({
      ...choice('', labels(id === 'good' ? 1 : 9)),
      id,
    }))
    try {
      buildRows(letters, { text: '', list: false }, questions, { maxLen: 30, headMaxLen: 20 })
      expect.unreachable()
    } catch (error) {
      const { message, details } = error as LayaError
      expect(message).toMatch(/^question "it's\\n": only 5 of its 9 option markers fit .* \(and 1 more\)$/)
      expect(details.errors?.map(({ question, field }) => [question, field])).toEqual([
        ["it's\n", 'criteria'],
        ['z'.repeat(80), 'criteria'],
      ])
    }
  })
})
