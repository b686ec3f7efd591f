import { describe, expect, it } from 'vitest'
import { type Json, JsonNumber, type JsonObject, parseJson } from './json.ts'
import {
  createQuestion,
  isBlank,
  type Label,
  noulSide,
  type QuestionParts,
  repeatedLabel,
  rowKey,
} from './question.ts'

/** Parts of a question from JSON text, as validation would hand them on. */
function parts(json: string): QuestionParts {
  return { id: 'q', ...Object.fromEntries(parseJson(json) as JsonObject) } as unknown as QuestionParts
}
const texts = (json: string): string[] => createQuestion(parts(json)).options.map(({ text }) => text)

describe('texts of the options', () => {
  it('joins label and description; null and "" are none, 0 and false are descriptions', () => {
    expect(
      texts(
        '{"type":"choice","criteria":{"security":{"desc":"x","sla_hours":4,"escalate":true},"eng":["bugs",3],"zero":0,"falsey":false,"blank":"","nothing":null,"plain":"else","":"nameless","bare":2.0}}',
      ),
    ).toEqual([
      'security: {"desc": "x", "sla_hours": 4, "escalate": true}',
      'eng: ["bugs", 3]',
      'zero: 0',
      'falsey: false',
      'blank',
      'nothing',
      'plain: else',
      ': nameless',
      'bare: 2.0',
    ])
  })

  it('keeps the order of the body, integer-like labels included', () => {
    const { options } = createQuestion(
      parts('{"type":"choice","criteria":{"10":"x","2":"y","b":null,"1":null}}'),
    )
    expect(options.map(({ key }) => key)).toEqual(['10', '2', 'b', '1'])
  })

  it('shows list labels as Python does, answers with their JSON type, keys by their JSON text', () => {
    const { options } = createQuestion(parts('{"type":"choice","criteria":["a",1,2.50,true,false,1e999]}'))
    expect(options).toEqual([
      { key: 'a', value: 'a', text: 'a' },
      { key: '1', value: new JsonNumber('1'), text: '1' },
      { key: '2.5', value: new JsonNumber('2.50'), text: '2.5' },
      { key: 'true', value: true, text: 'True' },
      { key: 'false', value: false, text: 'False' },
      { key: 'Infinity', value: new JsonNumber('1e999'), text: 'inf' },
    ])
  })

  it('numbers the levels and keeps them as sent', () => {
    const question = createQuestion(parts('{"type":"score","criteria":["low",{"cvss":7.5},3]}'))
    expect(question.options.map(({ text }) => text)).toEqual([
      'level 0: low',
      'level 1: {"cvss": 7.5}',
      'level 2: 3',
    ])
    expect(question.options.map(({ key }) => key)).toEqual(['0', '1', '2'])
    expect(question.levels).toEqual(['low', new Map([['cvss', new JsonNumber('7.5')]]), new JsonNumber('3')])
  })

  const no = 'false: no, the statement does not hold'
  const yes = 'true: yes, the statement holds'
  it.each([
    ['{"type":"noul"}', [no, yes]],
    ['{"type":"noul","criteria":null}', [no, yes]],
    ['{"type":"noul","criteria":{"true":null,"false":""}}', [no, yes]],
    ['{"type":"noul","criteria":{"true":"rain","false":0}}', ['false: 0', 'true: rain']],
    ['{"type":"noul","criteria":{"TRUE":"first","True":"second"}}', [no, 'true: second']],
    ['{"type":"noul","criteria":{"True":"first","true":null}}', [no, yes]],
    ['{"type":"noul","criteria":{"true":{"all":[1]},"false":[1.0]}}', ['false: [1.0]', 'true: {"all": [1]}']],
  ])('%s', (json, expected) => {
    expect(texts(json)).toEqual(expected)
  })

  it('uses own labels of a noul in the text alone', () => {
    const { options } = createQuestion({ id: 'q', type: 'noul', labels: { false: 'nein', true: 'ja' } })
    expect(options.map(({ key }) => key)).toEqual(['false', 'true'])
    expect(options.map(({ text }) => text)).toEqual([
      'nein: no, the statement does not hold',
      'ja: yes, the statement holds',
    ])
  })
})

describe('the rest of a question', () => {
  it.each([
    ['{"type":"noul","instructions":"  Is it? "}', '  Is it? '],
    ['{"type":"noul","instructions":{"ask":"é","n":2.0}}', '{"ask": "é", "n": 2.0}'],
    ['{"type":"noul","instructions":["a",{"rule":3}]}', '["a", {"rule": 3}]'],
    ['{"type":"noul","instructions":5}', '5'],
    ['{"type":"noul","instructions":null}', ''],
    ['{"type":"noul"}', ''],
  ])('instructions of %s', (json, expected) => {
    expect(createQuestion(parts(json)).instructions).toBe(expected)
  })

  it('knows blank instructions', () => {
    const blank: (Json | undefined)[] = [undefined, null, '', ' \n\u0085', [], new Map()]
    expect(blank.map(isBlank)).not.toContain(false)
    expect(['x', '\ufeff', [null], new JsonNumber('0'), false].map(isBlank)).not.toContain(true)
  })

  it('knows the sides of a noul', () => {
    expect(['true', 'False', 'TRUE', 'yes', ' true'].map(noulSide)).toEqual([
      'true',
      'false',
      'true',
      null,
      null,
    ])
  })

  it.each([
    ['["a","b","A"]', null],
    ['["a","b","a"]', '"a"'],
    ['[1,2,1.0]', '1.0'],
    ['[1,true]', 'true'],
    ['[1,"1"]', '"1"'],
    ['["True",true]', null],
    ['[0.5,0.50]', '0.50'],
  ])('finds the label of %s that cannot be told apart: %s', (list, repeated) => {
    expect(repeatedLabel(parseJson(list) as Label[])).toEqual(repeated === null ? null : parseJson(repeated))
  })

  it('recognises questions that give the same row', () => {
    const key = (json: string): string => rowKey(createQuestion(parts(json)))
    const base = key('{"type":"choice","instructions":"i","criteria":{"a":"x","b":null}}')
    expect(key('{"type":"choice","instructions":"i","criteria":{"a":"x","b":""},"id":"other"}')).toBe(base)
    expect(key('{"type":"choice","instructions":"i","criteria":{"b":null,"a":"x"}}')).not.toBe(base)
    expect(key('{"type":"choice","instructions":"i","criteria":{"a":"x","b":null},"order":[1,0]}')).not.toBe(
      base,
    )
    expect(key('{"type":"choice","instructions":"j","criteria":{"a":"x","b":null}}')).not.toBe(base)
  })
})
