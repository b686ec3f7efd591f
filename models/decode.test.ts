import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readArchitecture } from './config.ts'
import { type Answer, decodeAnswer, gateAnswer, type Temperatures, temperatureOf, usageOf } from './decode.ts'
import { type Json, JsonNumber, type JsonObject, parseJson } from './json.ts'
import { createQuestion, type Question, type QuestionParts, textOf } from './question.ts'
import type { TokenRow } from './sequence.ts'
import { round4 } from './softmax.ts'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const readGolden = (name: string): JsonObject =>
  parseJson(readFileSync(path(`../e2e/data/golden/${name}.json`), 'utf8')) as JsonObject
const object = (json: Json | undefined): JsonObject => json as JsonObject
const list = (json: Json | undefined): Json[] => json as Json[]
const number = (json: Json | undefined): number => Number((json as JsonNumber).literal)
const numbers = (json: Json | undefined): number[] => list(json).map(number)
const float32 = (json: Json | undefined): Float32Array => Float32Array.from(numbers(json))

function questionOf(id: string, type: Json | undefined, members: JsonObject): Question {
  return createQuestion({ id, ...Object.fromEntries(members), type } as unknown as QuestionParts)
}

function temperaturesOf(config: JsonObject): Temperatures {
  const byOptions = Array.from(
    object(config.get('temperature_by_options')),
    ([name, t]) => [name, number(t)] as const,
  )
  return {
    temperature: numbers(config.get('temperature')),
    temperatureByOptions: Object.fromEntries(byOptions),
  }
}

/** The members of a published answer, without those the reference did not have. */
function published(question: Question, answer: Answer): Record<string, unknown> {
  const keyed = Object.fromEntries(
    question.options.map(({ key }, index) => [key, answer.probabilities[index]]),
  )
  return {
    type: answer.type,
    ...(answer.type === 'choice' && { choice: question.options[answer.best]!.value, probabilities: keyed }),
    ...(answer.type === 'score' && {
      score: answer.score,
      legend: Object.fromEntries(answer.legend!.map((text, level) => [String(level), text])),
      probabilities: keyed,
    }),
    ...(answer.type === 'noul' && { noul: answer.noul }),
    confidence: answer.confidence,
    answer_confidence: answer.answerConfidence,
    action: { act_probability: answer.actProbability },
  }
}

/** A published answer as plain values; legend entries as text, which the older reference left raw. */
function expectedOf(answer: JsonObject): Record<string, unknown> {
  const plain = (json: Json): unknown =>
    json instanceof JsonNumber
      ? Number(json.literal)
      : json instanceof Map
        ? Object.fromEntries(Array.from(json, ([name, value]) => [name, plain(value)]))
        : json
  const legend = answer.get('legend') as JsonObject | undefined
  return {
    ...(plain(answer) as Record<string, unknown>),
    ...(legend && {
      legend: Object.fromEntries(Array.from(legend, ([level, text]) => [level, textOf(text)])),
    }),
  }
}

describe('published decode cases of the english temperatures', () => {
  const golden = readGolden('upstream/system1-omni/decisions')
  const cases = [...list(golden.get('cases')), golden.get('rounding_probe')!].map(object)

  it.each(cases.map((one) => [one.get('name') as string, one] as const))('%s', (_, one) => {
    const temperatures = temperaturesOf(object(one.get('config') ?? golden.get('config')))
    const answers = object(one.get('answers'))
    list(one.get('questions')).forEach((json, index) => {
      const members = object(json)
      const id = members.get('id') as string
      const question = questionOf(id, members.get('kind'), members)
      const logits = float32(list(one.get('logits'))[index])
      const actLogits = float32(list(one.get('action_logits'))[index])
      const answer = decodeAnswer(question, { logits, actLogits }, temperatures)
      expect(published(question, answer)).toEqual(expectedOf(object(answers.get(id))))
    })
    expect(answers.size).toBe(list(one.get('questions')).length)
  })

  it('has all seventeen', () => expect(cases).toHaveLength(17))
})

describe('published answers of the real checkpoints, from their logits', () => {
  const english = temperaturesOf(object(readGolden('upstream/system1-omni/decisions').get('config')))
  const checkpoints: [string, Temperatures, string[]][] = [
    [
      'typed-decisions',
      {
        temperature: [1.0148024559020996, 1.0374259948730469, 1.0575125217437744],
        temperatureByOptions: english.temperatureByOptions,
      },
      ['quickstart', 'dict_state', 'nonstring_instructions', 'mask_injection', 'many_options', 'long_state'],
    ],
    [
      'multilingual',
      { temperature: [1, 1, 1], temperatureByOptions: {} },
      ['quickstart', 'criterion_shapes', 'json_escaping', 'list_state', 'cjk', 'single_option', 'long_state'],
    ],
  ]

  it.each(checkpoints.flatMap(([name, t, cases]) => cases.map((one) => [name, one, t] as const)))(
    '%s / %s',
    (name, one, temperatures) => {
      const golden = readGolden(`upstream/${name}/${one}`)
      const answers = object(object(golden.get('result')).get('answers'))
      Array.from(object(golden.get('questions'))).forEach(([id, json], index) => {
        const question = questionOf(id, object(json).get('type'), object(json))
        // The recorder padded the marker axis; the network's own output has one logit for each option.
        const logits = float32(list(golden.get('logits'))[index]).subarray(0, question.options.length)
        const actLogits = float32(list(golden.get('act_logits'))[index])
        const answer = decodeAnswer(question, { logits, actLogits }, temperatures)
        expect(published(question, answer)).toEqual(expectedOf(object(answers.get(id))))
      })
    },
  )
})

describe.each([
  ['laya-demo', path('demo')],
  ['fixture-multilingual', path('../e2e/data/checkpoints/fixture-multilingual')],
])('golden probabilities of %s, from its logits', (name, folder) => {
  const temperatures = readArchitecture(folder)
  const cases = list(readGolden(name).get('cases')).map(object)

  it('gives all fifty in all four decimals', () => {
    let largest = 0
    for (const one of cases) {
      const members = parseJson(one.get('question_json') as string) as JsonObject
      const question = questionOf('q', members.get('type'), members)
      const output = { logits: float32(one.get('logits')), actLogits: float32(one.get('act_logits')) }
      const answer = decodeAnswer(question, output, temperatures)
      const expected = numbers(one.get('probs'))
      expect(answer.temperature.value).toBe(number(one.get('temperature')))
      expect(answer.probabilities, one.get('name') as string).toEqual(expected.map(round4))
      expect(answer.actProbability).toBe(round4(number(one.get('act_probability'))))
      expected.forEach((p, option) => {
        largest = Math.max(largest, Math.abs(p - answer.distribution[option]!))
      })
    }
    console.info(`${name}: largest difference of a probability over ${cases.length} requests ${largest}`)
    expect(largest).toBeLessThan(1e-6)
  })
})

describe('temperatures', () => {
  const temperatures: Temperatures = {
    temperature: [1.5, true, 'x'],
    temperatureByOptions: {
      'choice:11+': 0.1,
      'choice:3-5': null,
      'score:2': Number.NaN,
      'score:6-10': 80,
      'noul:2': Number.POSITIVE_INFINITY,
    },
  }
  it.each<[Question['type'], number, string, number, boolean]>([
    ['choice', 1, 'choice:2', 1.5, false],
    ['choice', 2, 'choice:2', 1.5, false],
    ['choice', 3, 'choice:3-5', 1, true],
    ['choice', 5, 'choice:3-5', 1, true],
    ['choice', 6, 'choice:6-10', 1.5, false],
    ['choice', 10, 'choice:6-10', 1.5, false],
    ['choice', 11, 'choice:11+', 0.5, true],
    ['score', 2, 'score:2', 1, true],
    ['score', 4, 'score:3-5', 1, true],
    ['score', 7, 'score:6-10', 5, true],
    ['noul', 2, 'noul:2', 1, true],
  ])('%s with %d options: bucket %s, %d, uncalibrated: %s', (type, options, bucket, value, uncalibrated) => {
    expect(temperatureOf(temperatures, type, options)).toEqual({ bucket, value, uncalibrated })
  })

  it('reads only the own members of the configuration', () => {
    const bare = { temperature: [2, 2, 2], temperatureByOptions: Object.create({ 'choice:2': 4 }) }
    expect(temperatureOf(bare, 'choice', 2).value).toBe(2)
  })
})

describe('answers', () => {
  const even: Temperatures = { temperature: [1, 1, 1], temperatureByOptions: {} }
  const act = Float32Array.of(3, 0)
  /** Logits whose softmax is this distribution. */
  const logs = (...p: number[]): Float32Array => Float32Array.from(p, (share) => Math.log(share))
  const choice = (count: number, order?: number[]): Question =>
    createQuestion({
      id: 'q',
      type: 'choice',
      criteria: Array.from({ length: count }, (_, index) => `o${index}`),
      ...(order && { order }),
    })
  const score = (count: number): Question =>
    createQuestion({
      id: 'q',
      type: 'score',
      criteria: Array.from({ length: count }, (_, level) => `l${level}`),
    })
  const decode = (question: Question, logits: Float32Array): Answer =>
    decodeAnswer(question, { logits, actLogits: act }, even)

  it.each([
    [choice(3), logs(0.82, 0.1, 0.08), 0.73],
    [choice(6), logs(0.56, 0.2, 0.1, 0.06, 0.04, 0.04), 0.472],
    [choice(3), logs(0.9519, 0.0327, 0.0154), 0.9278],
    [score(4), logs(0.0249, 0.4136, 0.3985, 0.163), 0.2507],
    [score(3), logs(0.88, 0.12, 1e-9), 0.82],
    [score(1), logs(1), 1],
    [choice(1), logs(1), 1],
    [choice(4), logs(0.25, 0.25, 0.25, 0.25), 0],
  ])('hosted confidence %#', (question, logits, expected) => {
    expect(decode(question, logits).jevConfidence).toBeCloseTo(expected, 3)
  })

  it('clips the hosted confidence of a split score at 0', () => {
    expect(decode(score(3), logs(0.5, 1e-9, 0.5)).jevConfidence).toBe(0)
  })

  it('has no hosted confidence on noul', () => {
    const noul = createQuestion({ id: 'q', type: 'noul' })
    const answer = decode(noul, logs(0.3, 0.7))
    expect(answer).toMatchObject({
      noul: 0.7,
      confidence: 0.7,
      answerConfidence: 0.7,
      jevConfidence: null,
      best: 1,
    })
    expect(answer).toMatchObject({ score: null, legend: null })
  })

  it('puts probabilities back into body order', () => {
    const answer = decode(choice(3, [2, 0, 1]), logs(0.5, 0.3, 0.2))
    expect(answer.probabilities).toEqual([0.3, 0.2, 0.5])
    expect(answer.best).toBe(2)
  })

  it('gives ties to the first option in body order, whatever its slot', () => {
    expect(decode(choice(3, [2, 1, 0]), logs(0.4, 0.2, 0.4)).best).toBe(0)
  })

  it('rounds equal shares of 32 options to even', () => {
    const answer = decode(choice(32), new Float32Array(32))
    expect(answer.probabilities).toEqual(Array(32).fill(0.0312))
    expect(answer.confidence).toBe(0)
  })

  it('stays within [0, 1] for every distribution', () => {
    for (let index = 0; index < 500; index++) {
      const logits = Float32Array.from(
        { length: 1 + (index % 40) },
        (_, at) => 30 * Math.sin(index * 7 + at * 13),
      )
      for (const question of [choice(logits.length), score(logits.length)]) {
        const answer = decode(question, logits)
        const shown = [
          ...answer.probabilities,
          answer.confidence,
          answer.answerConfidence,
          answer.jevConfidence!,
        ]
        expect(shown.every((x) => x >= 0 && x <= 1)).toBe(true)
        const total = answer.probabilities.reduce((sum, p) => sum + p, 0)
        expect(Math.abs(total - 1)).toBeLessThanOrEqual(logits.length * 0.00005 + 1e-9)
      }
    }
  })

  it('shows levels that are not text as JSON text', () => {
    const levels: Json[] = ['low', new Map([['cvss', new JsonNumber('7.0')]]), new JsonNumber('3')]
    const answer = decode(createQuestion({ id: 'q', type: 'score', criteria: levels }), new Float32Array(3))
    expect(answer.legend).toEqual(['low', '{"cvss": 7.0}', '3'])
  })
})

describe('usage', () => {
  const row = (members: Partial<TokenRow>): TokenRow => ({
    type: 'noul',
    ids: new Int32Array(40),
    markers: new Int32Array(2),
    stateTokens: 100,
    stateDropped: 0,
    headTokens: 10,
    headKept: 10,
    options: 2,
    optionsDistinct: 2,
    tokensPerOption: null,
    ...members,
  })

  it('adds tokens, takes the worst truncation, and lists questions in order', () => {
    const rows = [
      row({}),
      row({ stateDropped: 30, headKept: 8, ids: new Int32Array(512) }),
      row({ stateDropped: 50, options: 40, optionsDistinct: 3, tokensPerOption: 4 }),
    ]
    expect(usageOf([{ id: '10' }, { id: '2' }, { id: '__proto__' }], rows)).toEqual({
      inputTokens: 592,
      stateTokens: 100,
      stateTokensDropped: 50,
      truncatedQuestions: ['2', '__proto__'],
      instructionsTruncated: ['2'],
      options: new Map([['__proto__', { total: 40, distinct: 3, tokensPerOption: 4 }]]),
    })
  })

  it('is zero without questions', () => {
    expect(usageOf([], [])).toMatchObject({ inputTokens: 0, stateTokens: 0, stateTokensDropped: 0 })
  })
})

describe('the abstention gate', () => {
  const byBucket = new Map([
    ['choice:2', 0.9],
    ['default', 0.4],
  ])
  it.each([
    [0.5, 'noul:2', 0.5, 'passed', 0.5],
    [0.5, 'noul:2', 0.4999, 'abstained', 0.5],
    [byBucket, 'choice:2', 0.8, 'abstained', 0.9],
    [byBucket, 'score:3-5', 0.4, 'passed', 0.4],
    [new Map([['choice:2', 1]]), 'noul:2', 0, 'passed', 0],
    [0.5, 'noul:2', undefined, 'unevaluated', 0.5],
  ] as const)('%# %s', (min, bucket, confidence, abstention, threshold) => {
    expect(gateAnswer(min, bucket, confidence)).toEqual({ abstention, threshold })
  })
})
