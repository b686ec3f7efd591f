import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Model } from '../models/graph/model.ts'
import { FIXED_SHAPES } from '../models/graph/profile.ts'
import { type Pass, type PassRow, placeRows, planPasses, selectedPositions } from '../models/pass.ts'
import { createRandom } from '../models/random.ts'
import { type GraphSession, openGraphSession } from './graph-session.ts'

interface Case {
  name: string
  input_ids: number[]
  markers: number[]
  qtype: 0 | 1 | 2
  logits: number[]
  act_logits: number[]
}

const CHECKPOINTS = [
  { name: 'laya-demo', folder: '../models/demo' },
  { name: 'fixture-multilingual', folder: '../e2e/data/checkpoints/fixture-multilingual' },
]

/** A wrong shape in the file fails the load; otherwise onnxruntime silently prefers its own. */
const STRICT = { extra: { session: { strict_shape_type_inference: '1' } } }

describe.each(CHECKPOINTS)('$name against PyTorch', ({ name, folder }) => {
  const checkpoint = fileURLToPath(new URL(folder, import.meta.url))
  const golden = readJson(`../e2e/data/golden/${name}.json`)
  const cases: Case[] = golden.cases

  describe('cpu-fp32', () => {
    let session: GraphSession
    beforeAll(async () => {
      session = await openGraphSession(checkpoint, 'cpu-fp32', { session: STRICT })
    })
    afterAll(() => session.close())

    it('gives the logits of every golden request alone', async () => {
      const largest = await compare(session, name, cases, (one) => [tightPass([one])])
      report(`${name} cpu-fp32 alone`, largest)
      expect(largest.logits).toBeLessThan(1e-4)
      expect(largest.act).toBeLessThan(1e-2)
    })

    it('gives them with several rows in one line, in any order, with and without padding', async () => {
      const random = createRandom(20)
      const largest = { logits: 0, act: 0 }
      for (let round = 0; round < 16; round++) {
        const short = cases.filter((one) => one.input_ids.length <= 300)
        const rows = Array.from({ length: 3 + random.integer(4) }, () => random.pick(short))
        const padding = round % 2 === 0 ? 0 : 1 + random.integer(200)
        const pass = tightPass(rows, padding)
        expect(placeRows(pass).lines).toBe(1)
        merge(largest, difference(rows, await session.run(pass)))
      }
      report(`${name} cpu-fp32 packed`, largest)
      expect(largest.logits).toBeLessThan(1e-4)
      expect(largest.act).toBeLessThan(1e-2)
    })

    it('gives them for all requests in one call, as the planner distributes them', async () => {
      const rows = cases.map(toRow)
      const passes = planPasses(rows, { kind: 'dynamic', maxTokens: 2048 })
      const largest = { logits: 0, act: 0 }
      for (const pass of passes) {
        merge(
          largest,
          difference(
            pass.index.map((index) => cases[index]!),
            await session.run(pass),
          ),
        )
      }
      report(`${name} cpu-fp32 planned (${rows.length} rows in ${passes.length} passes)`, largest)
      expect(passes.flatMap((pass) => pass.index).toSorted((a, b) => a - b)).toEqual(rows.map((_, i) => i))
      expect(largest.logits).toBeLessThan(1e-4)
      expect(largest.act).toBeLessThan(1e-2)
    })

    it('gives the padded batch of the reference', async () => {
      const { batch } = golden
      const rows = (batch.cases as string[]).map((wanted) => cases.find((one) => one.name === wanted)!)
      const length = batch.input_ids[0].length
      const selected = batch.marker_pos[0].length + 1
      const results = []
      for (const row of rows) results.push(...(await session.run(singleLine([row], length, selected))))
      const expected = rows.map((row, at) => ({
        ...row,
        logits: batch.logits[at].slice(0, row.markers.length),
        act_logits: batch.act_logits[at],
      }))
      const largest = difference(expected, results)
      report(`${name} cpu-fp32 padded to ${length}`, largest)
      expect(largest.logits).toBeLessThan(1e-4)
      expect(largest.act).toBeLessThan(1e-2)
    })
  })

  it('agrees layer by layer', async () => {
    const layers = readJson(`../e2e/data/golden/layers-${name}.json`)
    const wanted = (layers.order as string[]).slice(0, -1)
    const session = await openGraphSession(checkpoint, 'cpu-fp32', {
      session: STRICT,
      edit: (model) => exposeValues(model, wanted),
    })
    const row: PassRow = {
      ids: Int32Array.from(layers.input_ids as number[]),
      markers: Int32Array.from(layers.markers as number[]),
      type: layers.qtype,
    }
    const outputs = await session.outputs(singleLine([row], row.ids.length, row.markers.length + 1))
    await session.close()
    const lines = wanted.map((layer) => {
      const expected: number[] = layers.tensors[layer].data
      const scale = Math.max(...expected.map(Math.abs))
      const largest = Math.max(...expected.map((value, at) => Math.abs(value - outputs[layer]![at]!)))
      // Expected values are printed with seven digits.
      expect(largest / scale, layer).toBeLessThan(1e-5)
      return `${layer} ${(largest / scale).toExponential(1)}`
    })
    // The last head layer exists at the selected positions only.
    const last: number[] = layers.tensors[layers.order.at(-1)].data
    const width = last.length / row.ids.length
    const kept = [...row.markers, 0].flatMap((at) => last.slice(at * width, (at + 1) * width))
    const scale = Math.max(...kept.map(Math.abs))
    const largest = Math.max(...kept.map((value, at) => Math.abs(value - outputs.sel_hidden![at]!)))
    expect(largest / scale, 'sel_hidden').toBeLessThan(1e-5)
    console.log(
      `${name} layers, relative: ${lines.join(', ')}, sel_hidden ${(largest / scale).toExponential(1)}`,
    )
  })

  describe.each(FIXED_SHAPES)('fixed length $length', ({ length, selected }) => {
    const fitting = cases.filter((one) => one.input_ids.length <= length && one.markers.length < selected)
    // Long graphs are slow on a CPU: a few requests show the same.
    const chosen = length === 128 ? fitting : fitting.filter((_, at) => at % (length / 64) === 0)

    it.each([
      { profile: 'gpu-fp32', logits: 1e-4, act: 1e-2 },
      // Rounding of the float16 encoder alone; the parity gate judges probabilities on the user's machine.
      { profile: 'gpu', logits: 5e-2, act: 2e-1 },
    ] as const)('$profile', async ({ profile, logits, act }) => {
      const session = await openGraphSession(checkpoint, profile, { length, session: STRICT })
      const largest = await compare(session, name, chosen, (one) => [singleLine([one], length, selected)])
      const random = createRandom(length)
      const packed = { logits: 0, act: 0 }
      for (let round = 0; round < (length === 1024 ? 1 : 4); round++) {
        const rows: Case[] = []
        for (let tries = 0; tries < 20; tries++) {
          const next = random.pick(fitting)
          const tokens = rows.reduce((sum, one) => sum + one.input_ids.length, next.input_ids.length)
          const positions = rows.reduce((sum, one) => sum + one.markers.length + 1, next.markers.length + 1)
          if (tokens <= length && positions <= selected) rows.push(next)
        }
        merge(packed, difference(rows, await session.run(singleLine(rows, length, selected))))
      }
      await session.close()
      report(`${name} ${profile} S=${length} alone`, largest)
      report(`${name} ${profile} S=${length} packed`, packed)
      merge(largest, packed)
      expect(largest.logits).toBeLessThan(logits)
      expect(largest.act).toBeLessThan(act)
    })
  })
})

function toRow(one: Case): PassRow {
  return { ids: Int32Array.from(one.input_ids), markers: Int32Array.from(one.markers), type: one.qtype }
}

function singleLine(rows: (Case | PassRow)[], length: number, selected: number): Pass {
  const passRows = rows.map((row) => ('ids' in row ? row : toRow(row)))
  return { length, selected, rows: passRows, index: passRows.map((_, at) => at) }
}

function tightPass(rows: Case[], padding = 0): Pass {
  const tokens = rows.reduce((sum, one) => sum + one.input_ids.length, 0)
  const positions = rows.reduce((sum, one) => sum + selectedPositions(toRow(one)), 0)
  return singleLine(rows, tokens + padding, positions + (padding === 0 ? 0 : 3))
}

interface Largest {
  logits: number
  act: number
}

async function compare(
  session: GraphSession,
  name: string,
  cases: Case[],
  plan: (one: Case) => Pass[],
): Promise<Largest> {
  const largest = { logits: 0, act: 0 }
  expect(cases.length, name).toBeGreaterThan(0)
  for (const one of cases) {
    for (const pass of plan(one)) merge(largest, difference([one], await session.run(pass)))
  }
  return largest
}

function difference(
  expected: Pick<Case, 'logits' | 'act_logits'>[],
  results: { logits: Float32Array; actLogits: Float32Array }[],
): Largest {
  expect(results).toHaveLength(expected.length)
  const largest = { logits: 0, act: 0 }
  expected.forEach((one, at) => {
    const { logits, actLogits } = results[at]!
    expect(logits).toHaveLength(one.logits.length)
    expect(actLogits).toHaveLength(one.act_logits.length)
    for (const [i, logit] of one.logits.entries())
      largest.logits = Math.max(largest.logits, Math.abs(logit - logits[i]!))
    for (const [i, logit] of one.act_logits.entries())
      largest.act = Math.max(largest.act, Math.abs(logit - actLogits[i]!))
  })
  return largest
}

function merge(into: Largest, one: Largest): void {
  into.logits = Math.max(into.logits, one.logits)
  into.act = Math.max(into.act, one.act)
}

function report(what: string, { logits, act }: Largest): void {
  console.log(`${what}: logits within ${logits.toExponential(1)}, act logits within ${act.toExponential(1)}`)
}

function exposeValues(model: Model, names: string[]): void {
  for (const name of names) {
    const value = model.graph.values.find((one) => one.name === name)
    if (value === undefined) throw new Error(`The graph has no value ${name}.`)
    model.graph.outputs.push(value)
  }
  model.graph.values = model.graph.values.filter((value) => !names.includes(value.name))
}

// biome-ignore lint/suspicious/noExplicitAny: golden files are data of many shapes, checked by what the tests expect.
function readJson(path: string): any {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
}
