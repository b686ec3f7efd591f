// Feeds the addon wrong arguments of every kind, in a process of its own: `exercise.ts <addon> <library> <graph> <runs>`.
// Whatever happens must be an exception or a rejected promise. Prints one JSON line of counts at the end.
import { createRequire } from 'node:module'
import type { NativeEp, NativeSession } from '../index.ts'

const [addon, library, graph, runs] = process.argv.slice(2) as [string, string, string, string]
const native = createRequire(addon)(addon) as NativeEp
const counts = { refused: 0, answered: 0 }

// Mulberry32: seeded, so that a crash can be repeated.
let seed = 20_261_201
function random(): number {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}
const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T

const detached = new Float32Array(4)
structuredClone(detached.buffer, { transfer: [detached.buffer] })
const throwing = Object.defineProperty({}, 'type', {
  enumerable: true,
  get() {
    throw new Error('no type here')
  },
})
const WRONG: unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  2 ** 53,
  10n,
  '',
  'x',
  'a\0b',
  'ü'.repeat(5000),
  Symbol('s'),
  [],
  [1, 2],
  {},
  new Map(),
  () => 1,
  new Date(),
  new Uint8Array(3),
  new Float32Array(2),
  new Float64Array(2),
  detached,
  new Float32Array(new SharedArrayBuffer(8)),
  new DataView(new ArrayBuffer(8)),
  new Proxy({}, {}),
  throwing,
]
const MODELS = [graph, `${graph}.absent`, '/', '/dev/null', library]
const sometimes = <T>(value: T, chance = 0.7): unknown => (random() < chance ? value : pick(WRONG))

function options(): unknown {
  if (random() < 0.4) return { library, model: graph, provider: 'cpu' }
  if (random() < 0.1) return pick(WRONG)
  return {
    library: sometimes(pick([library, library, addon, '/absent.so']), 0.9),
    model: sometimes(pick(MODELS), 0.9),
    provider: sometimes(pick(['cpu', 'cpu', 'CoreML', 'nothing']), 0.9),
    providerOptions: sometimes(pick([undefined, {}, { MLComputeUnits: 'ALL' }, { a: pick(WRONG) }])),
    config: sometimes(pick([undefined, {}, { 'session.record_ep_graph_assignment_info': '1' }, { '': '' }])),
    threads: sometimes(pick([undefined, 0, 1])),
    optimization: sometimes(pick([undefined, 0, 99, 57])),
    severity: sometimes(pick([undefined, 4])),
  }
}

function feeds(): unknown {
  if (random() < 0.4) return { x: { type: 'float32', dims: [2, 2], data: new Float32Array(4) } }
  if (random() < 0.1) return pick(WRONG)
  const view = new Float32Array(new ArrayBuffer(64), 8, 4)
  return {
    [pick(['x', 'x', 'x', 'y', '', '__proto__', 'ü'])]: sometimes(
      {
        type: sometimes(pick(['float32', 'float32', 'float16', 'int64', 'bool']), 0.9),
        dims: sometimes(
          pick([
            [2, 2],
            [2, 2],
            [1, 2],
            [-1, 2],
            [0, 2],
            [2 ** 31, 2],
            [1e308, 1e308],
            ['2', 2],
            Array(20).fill(1),
          ]),
        ),
        data: sometimes(
          pick([view, new Float32Array(4), new Float32Array(2), new Uint16Array(4), new BigInt64Array(4)]),
        ),
      },
      0.9,
    ),
    ...(random() < 0.1 ? { extra: pick(WRONG) } : {}),
  }
}

async function attempt(work: () => unknown): Promise<unknown> {
  try {
    const value = await work()
    counts.answered++
    return value
  } catch {
    counts.refused++
    return undefined
  }
}

type Loose = Record<string, (...args: unknown[]) => unknown>
const loose = native as unknown as Loose

for (let i = 0; i < Number(runs); i++) {
  const session = (await attempt(() => loose.create?.(options()))) as NativeSession | undefined
  await attempt(() => loose.computePlan?.(sometimes(graph), sometimes('ALL')))
  if (session === undefined) continue
  const methods = session as unknown as Loose
  // Everything at once, release among it: order of completion must not matter.
  await Promise.all([
    attempt(() => methods.run?.(feeds())),
    attempt(() => methods.run?.(feeds())),
    attempt(() => methods.assignment?.(pick(WRONG))),
    random() < 0.5 ? attempt(() => methods.release?.()) : undefined,
    attempt(() => methods.run?.(feeds())),
  ])
  await attempt(() => methods.run?.call(pick(WRONG), feeds()))
  await attempt(() => Reflect.construct(session.constructor as new () => unknown, [pick(WRONG)]))
  await attempt(() => methods.release?.())
  await attempt(() => methods.run?.(feeds()))
}
console.log(JSON.stringify(counts))
