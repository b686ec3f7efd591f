import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { decodeAnswer } from '../../models/decode.ts'
import { type JsonObject, parseJson } from '../../models/json.ts'
import { planPasses, type RowOutput } from '../../models/pass.ts'
import { createQuestion, type QuestionParts, textOf } from '../../models/question.ts'
import type { TokenRow } from '../../models/sequence.ts'
import { round4 } from '../../models/softmax.ts'
import type { Encoder, Engine, EngineThread } from './engine.ts'
import { type Prepared, prepareForTest, TEST_CHECKPOINTS } from './prepared.ts'
import { toPassRow } from './rows.ts'
import { createEngineThread } from './threaded.ts'

interface Golden {
  name: string
  question_json: string
  state_json: string
  input_ids: number[]
  markers: number[]
  logits: number[]
  act_logits: number[]
  probs: number[]
  act_probability: number
}

/**
 * PyTorch's own float32 logits are up to 1.6e-5 from a float64 evaluation of the same network, which moves
 * probabilities by 5e-7: closer to a rounding border than this, either neighbour is right.
 */
const BORDER = 1e-6

describe.each(Object.entries(TEST_CHECKPOINTS))('%s through the thread', (name, folder) => {
  const file = new URL(`../../e2e/data/golden/${name}.json`, import.meta.url)
  const cases = JSON.parse(readFileSync(file, 'utf8')).cases as Golden[]
  let prepared: Prepared
  let thread: EngineThread
  let engine: Engine
  let encoder: Encoder
  beforeAll(async () => {
    prepared = await prepareForTest(folder, ['cpu-fp32'])
    thread = createEngineThread()
    engine = await thread.openEngine(
      prepared.spec({ engine: 'cpu', profile: 'cpu-fp32', precision: 'float32' }),
    )
    encoder = await thread.openEncoder(folder)
  })
  afterAll(async () => {
    expect(await thread.close(10_000)).toBe(true)
    prepared.remove()
  })

  const questionOf = ({ name: id, question_json }: Golden) => {
    const definition = Object.fromEntries(parseJson(question_json) as JsonObject)
    return createQuestion({ ...definition, id } as QuestionParts)
  }
  async function encode(golden: Golden): Promise<TokenRow> {
    const state = parseJson(golden.state_json)
    const text = { text: textOf(state), list: Array.isArray(state) }
    return (await encoder.encode(text, [questionOf(golden)], encoder.window))[0]!
  }
  async function answer(rows: TokenRow[]): Promise<RowOutput[]> {
    const outputs: RowOutput[] = []
    for (const pass of planPasses(rows.map(toPassRow), engine.info.shape)) {
      const { rows: answered } = await engine.run(pass)
      pass.index.forEach((row, at) => {
        outputs[row] = answered[at]!
      })
    }
    return outputs
  }
  /** Values that round the other way; each must lie so near a rounding border that float32 cannot tell. */
  const onTheBorder = new Set<string>()
  function expectPublished(found: number, golden: number, label: string): void {
    if (found === round4(Math.fround(golden))) return
    const toBorder = Math.abs(((golden * 10_000) % 1) - 0.5) / 10_000
    expect(toBorder, `${label}: ${found} for ${golden}`).toBeLessThan(BORDER)
    expect(Math.abs(found - golden), label).toBeLessThan(0.5e-4 + 2 * BORDER)
    onTheBorder.add(label)
  }
  function compare(golden: Golden, output: RowOutput): { logits: number; act: number } {
    const decoded = decodeAnswer(questionOf(golden), output, prepared.checkpoint.architecture)
    expect(decoded.probabilities).toHaveLength(golden.probs.length)
    golden.probs.forEach((p, option) => {
      expectPublished(decoded.probabilities[option]!, p, `${golden.name} ${option}`)
    })
    expectPublished(decoded.actProbability, golden.act_probability, `${golden.name} act`)
    return {
      logits: largest(output.logits, golden.logits),
      act: largest(output.actLogits, golden.act_logits),
    }
  }
  const largest = (a: Float32Array, b: number[]) =>
    a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i]!)), 0)

  it('gives the reference ids, markers, logits and published answers, one question at a time', async () => {
    const worst = { logits: 0, act: 0 }
    for (const golden of cases) {
      const row = await encode(golden)
      expect(Array.from(row.ids), golden.name).toEqual(golden.input_ids)
      expect(Array.from(row.markers), golden.name).toEqual(golden.markers)
      const { logits, act } = compare(golden, (await answer([row]))[0]!)
      worst.logits = Math.max(worst.logits, logits)
      worst.act = Math.max(worst.act, act)
    }
    console.log(`${name}: largest difference of logits ${worst.logits}, of act logits ${worst.act}`)
    expect(worst.logits).toBeLessThan(1e-4)
    expect(worst.act).toBeLessThan(1e-2)
  })

  it('publishes the same when all questions come at once', async () => {
    const rows = await Promise.all(cases.map(encode))
    const outputs = await answer(rows)
    cases.forEach((golden, at) => void compare(golden, outputs[at]!))
    console.log(`${name}: rounded the other way: ${[...onTheBorder].join(', ') || 'none'}`)
    expect(onTheBorder.size).toBeLessThanOrEqual(2)
  })

  it('refuses a pass no graph can hold, and goes on', async () => {
    const row = { ids: new Int32Array(20), markers: Int32Array.of(1), type: 0 as const }
    await expect(
      engine.run({ length: 20, selected: 2, rows: [{ ...row, ids: row.ids.fill(2 ** 30) }], index: [0] }),
    ).rejects.toMatchObject({ code: 'inference_failed' })
    const golden = cases[0]!
    compare(golden, (await answer([await encode(golden)]))[0]!)
  })
})
