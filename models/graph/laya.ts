import { createHash } from 'node:crypto'
import type { Architecture } from '../config.ts'
import type { SafetensorsHeader } from '../safetensors.ts'
import { type Attention, createFusedAttention, createPlainAttention } from './attention.ts'
import { createGraph, type GraphBuilder } from './builder.ts'
import type { Model, Value } from './model.ts'
import { createOperators, type Operators } from './operators.ts'
import { GRAPH_VERSION, type Profile } from './profile.ts'
import { type GraphShape, graphShape, type Layout } from './shape.ts'
import { createWeights, type SideEntry } from './weights.ts'
import { encodeModel } from './writer.ts'

/** What a graph is written from. Weights are not read: only their places in the file matter. */
export interface GraphSource {
  architecture: Architecture
  header: SafetensorsHeader
  /** Whatever else must give another compile cache: digest of the weights, version of onnxruntime. */
  identity: string
}

export interface WrittenGraph {
  /** The ONNX file: small, weights stay outside. Belongs into the folder of `model.safetensors`. */
  bytes: Uint8Array
  /** What the profile's side file must hold; empty where no weight needs another format. */
  side: SideEntry[]
}

/**
 * Writes the network as an ONNX file whose weights are byte ranges of `model.safetensors` (and of the profile's side
 * file).
 * @param length S of a fixed-length profile: one of `FIXED_SHAPES`. Absent for dynamic profiles.
 * @throws RangeError for a length the profile does not have.
 */
export function writeGraph(source: GraphSource, profile: Profile, length?: number): WrittenGraph {
  const graph = createGraph()
  const weights = createWeights(graph, source.header, profile)
  const operators = createOperators(graph, weights, profile)
  buildNetwork({ ...source, profile, shape: graphShape(profile, length), graph, operators })
  const model: Model = {
    irVersion: 9,
    opsets: profile.lengths === 'dynamic' ? { '': 20, 'com.microsoft': 1 } : { '': 20 },
    graph: graph.finish('laya'),
    metadata: { COREML_CACHE_KEY: cacheKey(source, profile, length) },
  }
  return { bytes: encodeModel(model), side: weights.sideEntries() }
}

/** Core ML's compile cache knows a model by this key alone: 64 hexadecimal digits. */
function cacheKey(source: GraphSource, profile: Profile, length?: number): string {
  const parts = [source.identity, GRAPH_VERSION, profile.name, length ?? 'dynamic']
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

/**
 * Type of the graph's `emb` input: the raw float16 rows where file and device allow it, so that the host copies
 * bytes; else float32.
 */
export function embeddingType(profile: Profile, header: SafetensorsHeader): 'float16' | 'float32' {
  const stored = header.tensors.get('encoder.embeddings.tok_embeddings.weight')?.dtype
  // gpu-fp32 exists for devices without float16 shaders.
  return stored === 'F16' && profile.name !== 'gpu-fp32' ? 'float16' : 'float32'
}

interface Context extends GraphSource {
  profile: Profile
  shape: GraphShape
  graph: GraphBuilder
  operators: Operators
}

/** Epsilon of the decision head's norms; the encoder's is in its configuration. */
const HEAD_EPSILON = 1e-5

function buildNetwork(context: Context): void {
  const { architecture, profile, graph, operators } = context
  const inputs = declareInputs(context)
  const attention =
    profile.lengths === 'dynamic'
      ? createFusedAttention(graph, operators, architecture, inputs.positions as Value)
      : createPlainAttention(graph, operators, architecture)

  let h = operators.norm(
    'embeddings',
    inputs.embeddings,
    'encoder.embeddings.norm',
    architecture.normEps,
    false,
  )
  for (let layer = 0; layer < architecture.layers.length; layer++) {
    h = encoderLayer(context, layer, h, inputs, attention)
  }
  h = operators.norm('final_norm', h, 'encoder.final_norm', architecture.normEps, false)
  h = operators.add('typed', h, operators.embed('type_embedding', inputs.types, 'type_emb.weight'))
  for (let layer = 0; layer < architecture.headLayers; layer++) {
    const last = layer === architecture.headLayers - 1
    h = headLayer(context, layer, h, inputs, attention, last)
  }
  graph.output(scoreMarkers(operators, h))
  graph.output(h)
}

interface Inputs {
  /** [tokens, D] float32. */
  embeddings: Value
  globalMask: Value
  localMask: Value
  /** The global mask in float32, the head's precision. */
  headMask: Value
  /** [tokens, 3]. */
  types: Value
  /** [lines, selected, length]. */
  selection: Value
  selectionMask: Value
  /** Dynamic graphs: [lines, length]. */
  positions?: Value
  layout: Layout
}

function declareInputs({ architecture, profile, shape, graph, header, operators }: Context): Inputs {
  const { cast, reshape, list } = operators
  const D = architecture.hiddenSize
  const { lines, length, selected, tokens } = shape
  const type = embeddingType(profile, header)
  const shared = {
    globalMask: graph.input('mask_global', profile.body, [lines, 1, length, length]),
    localMask: graph.input('mask_local', profile.body, [lines, 1, length, length]),
    types: graph.input('qtype_onehot', 'float32', [tokens, 3]),
    selectionMask: graph.input('mask_sel', 'float32', [lines, 1, selected, length]),
  }
  const headMask = cast(shared.globalMask, 'float32')
  if (profile.lengths === 'fixed') {
    const embeddings = graph.input('emb', type, [length, D])
    const selection = graph.input('sel', 'float32', [selected, length])
    const target = list([1, selected as number, length as number])
    return {
      ...shared,
      headMask,
      embeddings: cast(embeddings, 'float32'),
      selection: reshape('sel_lines', selection, target, [1, selected, length]),
      layout: { lines, length, rows: tokens, shape: list([1, length as number, D]) },
    }
  }
  const embeddings = graph.input('emb', type, [lines, length, D])
  const flat = reshape('emb_flat', embeddings, list([-1, D]), [tokens, D])
  return {
    ...shared,
    headMask,
    embeddings: cast(flat, 'float32'),
    selection: graph.input('sel', 'float32', [lines, selected, length]),
    positions: graph.input('position_ids', 'int64', [lines, length]),
    layout: { lines, length, rows: tokens, shape: shapeOf(graph, embeddings) },
  }
}

function encoderLayer(
  context: Context,
  layer: number,
  h: Value,
  inputs: Inputs,
  attention: Attention,
): Value {
  const { architecture, profile, operators } = context
  const { cast, norm, linear, linears, add, multiply, gelu } = operators
  const name = `layer${layer}`
  const tensors = `encoder.layers.${layer}`
  const { kind, theta } = architecture.layers[layer] as Architecture['layers'][number]

  // The first layer reads the embeddings' own norm.
  const x = layer === 0 ? h : norm(`${name}_norm1`, h, `${tensors}.attn_norm`, architecture.normEps, false)
  const [q, k, v] = linears(
    name,
    cast(x, profile.body),
    `${tensors}.attn.Wqkv.weight`,
    architecture.hiddenSize,
    ['q', 'k', 'v'],
  ) as [Value, Value, Value]
  const attended = attention(
    name,
    {
      q,
      k,
      v,
      mask: kind === 'global' ? inputs.globalMask : inputs.localMask,
      heads: architecture.heads,
      theta,
    },
    inputs.layout,
    inputs.layout,
  )
  const out = linear(`${name}_attn_out`, attended, `${tensors}.attn.Wo.weight`)
  const middle = add(`${name}_attended`, h, cast(out, 'float32'))

  const u = norm(`${name}_norm2`, middle, `${tensors}.mlp_norm`, architecture.normEps, false)
  const [a, g] = linears(
    name,
    cast(u, profile.body),
    `${tensors}.mlp.Wi.weight`,
    architecture.intermediateSize,
    ['a', 'g'],
  ) as [Value, Value]
  const gated = multiply(`${name}_gated`, gelu(`${name}_gelu`, a), g)
  const down = linear(`${name}_mlp_out`, gated, `${tensors}.mlp.Wo.weight`)
  return add(name, middle, cast(down, 'float32'))
}

/**
 * One pre-norm layer of the decision head. The last one's output is read at the markers and at [CLS] only, so there
 * everything but keys and values is computed at the selected positions alone.
 */
function headLayer(
  context: Context,
  layer: number,
  h: Value,
  inputs: Inputs,
  attention: Attention,
  last: boolean,
): Value {
  const { architecture, operators } = context
  const { norm, linear, add, relu } = operators
  const D = architecture.hiddenSize
  const name = `head${layer}`
  const tensors = `head.layers.${layer}`

  const x = norm(`${name}_norm1`, h, `${tensors}.norm1`, HEAD_EPSILON, true)
  const whole = { rows: h, layout: inputs.layout }
  const kept = last ? select(context, `${name}_kept`, h, inputs) : whole
  const queried = last ? select(context, `${name}_queried`, x, inputs).rows : x
  const project = (label: string, rows: Value, block: number) =>
    linear(
      `${name}_${label}`,
      rows,
      `${tensors}.self_attn.in_proj_weight`,
      `${tensors}.self_attn.in_proj_bias`,
      { from: block * D, to: (block + 1) * D },
    )
  const attended = attention(
    name,
    {
      q: project('q', queried, 0),
      k: project('k', x, 1),
      v: project('v', x, 2),
      mask: last ? inputs.selectionMask : inputs.headMask,
      heads: architecture.headHeads,
      theta: null,
    },
    kept.layout,
    inputs.layout,
  )
  const outProjection = `${tensors}.self_attn.out_proj`
  const out = linear(`${name}_attn_out`, attended, `${outProjection}.weight`, `${outProjection}.bias`)
  const middle = add(`${name}_attended`, kept.rows, out)

  const u = norm(`${name}_norm2`, middle, `${tensors}.norm2`, HEAD_EPSILON, true)
  const up = linear(`${name}_up`, u, `${tensors}.linear1.weight`, `${tensors}.linear1.bias`)
  const active = relu(`${name}_relu`, up)
  const down = linear(`${name}_down`, active, `${tensors}.linear2.weight`, `${tensors}.linear2.bias`)
  return add(last ? 'sel_hidden' : name, middle, down)
}

/**
 * Rows of x at the selected positions, by a product with one-hot rows: exact while x is finite. Both sides have rank
 * 3 on purpose: a rank-2 side followed by Add would be fused into a Gemm with a varying bias, which Core ML refuses.
 */
function select(
  { graph, profile, shape, architecture, operators }: Context,
  name: string,
  x: Value,
  { selection, layout }: Inputs,
): { rows: Value; layout: Layout } {
  const { reshape, matmul, list } = operators
  const D = architecture.hiddenSize
  const lines = reshape(`${x.name}_by_line`, x, layout.shape, [shape.lines, shape.length, D])
  const picked = matmul(`${name}_by_line`, selection, lines)
  const fixed = profile.lengths === 'fixed'
  return {
    rows: reshape(name, picked, list([fixed ? (shape.picked as number) : -1, D]), [shape.picked, D]),
    layout: {
      lines: shape.lines,
      length: shape.selected,
      rows: shape.picked,
      shape: fixed ? list([1, shape.selected as number, D]) : shapeOf(graph, picked),
    },
  }
}

function scoreMarkers(operators: Operators, selected: Value): Value {
  const { norm, linear, gelu } = operators
  const x = norm('scorer_norm', selected, 'scorer.0', HEAD_EPSILON, true)
  const hidden = linear('scorer_hidden', x, 'scorer.1.weight', 'scorer.1.bias')
  return linear('logits', gelu('scorer_gelu', hidden), 'scorer.3.weight', 'scorer.3.bias')
}

function shapeOf(graph: GraphBuilder, x: Value): Value {
  return graph.node('Shape', [x], { name: `${x.name}_shape`, type: 'int64', dims: [x.dims.length] })
}
