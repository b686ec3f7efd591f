import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { LayaError } from '../../models/errors.ts'
import type { PassRow, RowOutput } from '../../models/pass.ts'
import type { Question, QuestionType } from '../../models/question.ts'
import type { TokenRow, Window } from '../../models/sequence.ts'
import type { Encoder, Engine, EngineInfo, EngineSpec, EngineThread } from './engine.ts'
import type { Makers } from './serve.ts'

/** Misbehaviour on purpose. Runs are counted from 1, over the life of one engine. */
export interface Faults {
  /** The thread (or process) ends in the middle of this run. */
  crashOnRun?: number
  /** This run blocks its thread like a native call: nothing on it, not even `terminate`, gets through. */
  hangOnRun?: number
  hangMs?: number
  throwOnRun?: number
  /** Every logit of this run and of all later ones is NaN. */
  nanOnRun?: number
  slowMs?: number
  /** Added to every second logit. */
  noise?: number
  failToOpen?: string
}

/**
 * A network that is none: logits are a hash of the row's tokens, equal for equal rows whatever stands beside them.
 * For tests and interface work; `EngineInfo.fake` marks it, and nothing in the program's bundles opens it.
 */
export function createFakeEngine(spec: EngineSpec, faults: Faults = {}): Engine {
  if (faults.failToOpen !== undefined) {
    throw new LayaError('engine_unavailable', faults.failToOpen, { hint: 'Another engine is used.' })
  }
  const info: EngineInfo = { spec, shape: { kind: 'dynamic', maxTokens: 1024 }, loadMs: 1, fake: true }
  return withFaults(
    {
      info,
      run: async (pass) => ({ rows: pass.rows.map(hashRow), forwardMs: 1 }),
      close: async () => {},
    },
    faults,
  )
}

/** The same engine with faults on top; gate tests wrap the real network with it. */
export function withFaults(engine: Engine, faults: Faults): Engine {
  let runs = 0
  return {
    info: engine.info,
    async run(pass) {
      runs += 1
      if (runs === faults.crashOnRun) process.exit(1)
      if (runs === faults.hangOnRun) blockThread(faults.hangMs ?? 60_000)
      if (runs === faults.throwOnRun) {
        throw new LayaError('inference_failed', 'inference failed', { cause: new Error('fault on purpose') })
      }
      const result = await engine.run(pass)
      if (faults.slowMs !== undefined) await sleep(faults.slowMs)
      const nan = faults.nanOnRun !== undefined && runs >= faults.nanOnRun
      const rows = result.rows.map((row) => disturb(row, faults.noise ?? 0, nan))
      return { rows, forwardMs: result.forwardMs + (faults.slowMs ?? 0) }
    },
    close: engine.close,
  }
}

function disturb(row: RowOutput, noise: number, nan: boolean): RowOutput {
  const logits = row.logits.map((logit, slot) => (nan ? Number.NaN : logit + (slot % 2 === 1 ? noise : 0)))
  return { logits, actLogits: row.actLogits }
}

/** A child that sleeps, waited for synchronously: the only stop in Node that `worker.terminate` cannot break. */
function blockThread(ms: number): void {
  spawnSync(process.execPath, ['-e', `setTimeout(() => {}, ${ms})`])
}

function hashRow({ ids, markers, type }: PassRow): RowOutput {
  let hash = 2166136261 ^ type
  for (const id of ids) hash = Math.imul(hash ^ id, 16777619)
  const logits = Float32Array.from(markers, (_, slot) => {
    const mixed = Math.imul(hash ^ (slot + 1), 2246822519) >>> 0
    return (mixed / 2 ** 32) * 4 - 2
  })
  return { logits, actLogits: Float32Array.of(4, -4) }
}

const TYPE_IDS: Record<QuestionType, number> = { choice: 10, score: 11, noul: 12 }
const CLS = 1
const SEP = 2
const MARKER = 3

/** Words instead of a vocabulary; the layout of the row (laya-model.md 7.2) without its shrinking of options. */
export function createFakeEncoder(window: Window = { maxLen: 512, headMaxLen: 192 }): Encoder {
  const encodeRow = (state: number[], list: boolean, question: Question, limits: Window): TokenRow => {
    const head = [TYPE_IDS[question.type], ...words(question.instructions)]
    const ids = [CLS, ...head, SEP]
    const markers: number[] = []
    const texts = new Set<string>()
    for (const option of question.order?.map((slot) => question.options[slot]!) ?? question.options) {
      markers.push(ids.length)
      ids.push(MARKER, ...words(option.text))
      texts.add(option.text)
    }
    ids.push(SEP)
    const room = Math.max(0, limits.maxLen - ids.length - 1)
    const kept = list ? state.slice(Math.max(0, state.length - room)) : state.slice(0, room)
    ids.push(...kept, SEP)
    const row: TokenRow = {
      type: question.type,
      ids: Int32Array.from(ids),
      markers: Int32Array.from(markers),
      stateTokens: state.length,
      stateDropped: state.length - kept.length,
      headTokens: head.length,
      headKept: head.length,
      options: question.options.length,
      optionsDistinct: texts.size,
      tokensPerOption: null,
    }
    if (question.order !== undefined) row.order = question.order
    return row
  }
  return {
    window,
    encode: async (state, questions, limits) => {
      const ids = words(state.text)
      return questions.map((question) => encodeRow(ids, state.list, question, limits))
    },
    close: async () => {},
  }
}

function words(text: string): number[] {
  const found = text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? []
  return found.map(
    (word) => [...word].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)!) % 50_000, 7) + 20,
  )
}

export const fakeMakers = (faults: Faults = {}): Makers => ({
  openEngine: async (spec) => createFakeEngine(spec, faults),
  openEncoder: async () => createFakeEncoder(),
})

/** The double without a thread, for tests that need no second one. It cannot crash or hang. */
export function createFakeThread(
  faults: Omit<Faults, 'crashOnRun' | 'hangOnRun' | 'hangMs'> = {},
): EngineThread {
  const makers = fakeMakers(faults)
  return {
    openEngine: (spec, onProgress) => makers.openEngine(spec, onProgress ?? (() => {})),
    openEncoder: makers.openEncoder,
    died: new Promise(() => {}),
    close: async () => true,
  }
}
