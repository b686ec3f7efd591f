import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openCheckpoint } from './checkpoint.ts'
import { type Architecture, readArchitecture } from './config.ts'
import { LayaError } from './errors.ts'
import { checkTensors, tensorShapes } from './inventory.ts'
import { readHeader } from './safetensors.ts'

const demo = fileURLToPath(new URL('demo', import.meta.url))
const multilingual = fileURLToPath(new URL('../e2e/data/checkpoints/fixture-multilingual', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-checkpoint-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

type Members = Record<string, unknown>

/** A copy of a checkpoint with changed members; `undefined` removes one. */
function changed(source: string, file: string, members: Members): string {
  cpSync(source, folder, { recursive: true })
  const path = join(folder, file)
  const text = JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...members })
  writeFileSync(path, text)
  return folder
}

function refusal(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    if (error instanceof LayaError && error.code === 'checkpoint_unusable') return error.message
    throw error
  }
  return 'accepted'
}

describe('both checkpoints of the repository', () => {
  it('opens the demo: byte-level family, old RoPE fields', () => {
    const { architecture, special, header, weightsPath } = openCheckpoint(demo)
    expect(architecture).toEqual({
      vocabSize: 8000,
      hiddenSize: 256,
      intermediateSize: 352,
      heads: 4,
      layers: [0, 1, 2, 3, 4, 5].map((layer) =>
        layer % 3 === 0 ? { kind: 'global', theta: 160000 } : { kind: 'sliding', theta: 10000 },
      ),
      halfWindow: 8,
      normEps: 1e-5,
      headLayers: 2,
      headHeads: 4,
      actClasses: 2,
      maxLen: 512,
      headMaxLen: 192,
      maxPositions: 8192,
      temperature: [2.883, 1.327, 3.1078],
      temperatureByOptions: {
        'choice:2': 2.2446,
        'choice:3-5': 2.956,
        'choice:6-10': 2.8117,
        'choice:11+': 3.0309,
        'score:3-5': 1.3607,
        'noul:2': 3.1078,
      },
    })
    expect(special).toEqual({ cls: 7996, sep: 7997, pad: 7998, mask: 7999, unk: 7995, maskString: '[MASK]' })
    expect(checkTensors(architecture, header)).toEqual({ missing: [], surplus: [], misshapen: [] })
    expect(weightsPath).toBe(join(demo, 'model.safetensors'))
  })

  it('opens the fixture: Metaspace family, new RoPE fields, cls from the tokenizer and not from the encoder', () => {
    const { architecture, special } = openCheckpoint(multilingual)
    expect(architecture.layers).toEqual([
      { kind: 'global', theta: 160000 },
      { kind: 'sliding', theta: 160000 },
      { kind: 'global', theta: 160000 },
      { kind: 'sliding', theta: 160000 },
    ])
    expect([architecture.halfWindow, architecture.heads, architecture.headHeads]).toEqual([24, 2, 2])
    expect([architecture.maxLen, architecture.headMaxLen]).toEqual([1024, 256])
    expect(special).toEqual({ cls: 2, sep: 1, pad: 0, mask: 4, unk: 3, maskString: '<mask>' })
  })
})

describe('the inventory', () => {
  const shape = (members: Partial<Architecture>): Architecture => ({ ...readArchitecture(demo), ...members })
  const layers = (count: number): Architecture['layers'] =>
    Array.from({ length: count }, () => ({ kind: 'global', theta: 160000 }))
  const parameters = (architecture: Architecture): { tensors: number; encoder: number; head: number } => {
    const sizes = [...tensorShapes(architecture)].filter(([name]) => name !== 'temperature')
    const sum = (inside: boolean): number =>
      sizes
        .filter(([name]) => name.startsWith('encoder.') === inside)
        .reduce((total, [, dimensions]) => total + dimensions.reduce((product, size) => product * size, 1), 0)
    return { tensors: sizes.length, encoder: sum(true), head: sum(false) }
  }

  it('adds up to the published parameter counts', () => {
    const english = shape({ vocabSize: 50368, hiddenSize: 1024, intermediateSize: 2624, layers: layers(28) })
    expect(parameters(english)).toEqual({ tensors: 205, encoder: 394_781_696, head: 26_512_131 })
    const wide = shape({ vocabSize: 256000, hiddenSize: 768, intermediateSize: 1152, layers: layers(22) })
    expect(parameters(wide)).toEqual({ tensors: 169, encoder: 306_939_648, head: 14_969_347 })
  })

  it('lists what is missing, surplus and of another shape', () => {
    const header = readHeader(join(demo, 'model.safetensors'))
    const faults = checkTensors(shape({ headLayers: 3, actClasses: 5 }), header)
    expect(faults.missing).toHaveLength(12)
    expect(faults.missing[0]).toBe('head.layers.2.self_attn.in_proj_weight')
    expect(faults.misshapen).toEqual([
      { name: 'act_head.2.weight', expected: [5, 256], found: [2, 256] },
      { name: 'act_head.2.bias', expected: [5], found: [2] },
    ])
    expect(checkTensors(shape({ headLayers: 1 }), header).surplus).toHaveLength(12)
  })
})

describe('refusals name file and field', () => {
  const agent = 'rl_agent_config.json'
  const encoder = 'encoder/config.json'
  const rope = (full: Members, sliding: Members): Members => ({
    rope_parameters: { full_attention: full, sliding_attention: sliding },
  })

  it.each<[string, Members, string]>([
    [agent, { encoder: undefined }, 'encoder: the name of the encoder is missing'],
    [agent, { head_layers: undefined }, 'head_layers: missing'],
    [agent, { head_layers: 0 }, 'head_layers: 0 is not a whole number of at least 1'],
    [agent, { max_len: '512' }, "max_len: '512' is not a whole number of at least 1"],
    [agent, { max_len: 9000 }, 'max_len: 9000 is above max_position_embeddings (8192)'],
    [agent, { head_max_len: 1.5 }, 'head_max_len: 1.5 is not a whole number of at least 1'],
    [agent, { option_layout: 'parallel' }, "option_layout: 'parallel' needs other attention masks"],
    [agent, { act_costs: { a: 1, b: 2 } }, 'act_costs asks for 3 act classes, act_head.2.weight has 2'],
    [agent, { act_costs: [1] }, 'act_costs: an object is expected'],
    [agent, { temperature: 1 }, 'temperature: a list of three numbers'],
    [agent, { temperature: [1, 1] }, 'temperature: a list of three numbers'],
    [agent, { temperature_by_options: 3 }, 'temperature_by_options: an object is expected'],
    [encoder, { model_type: 'bert' }, "model_type: 'bert' is not 'modernbert'"],
    [encoder, { model_type: undefined }, "model_type: nothing is not 'modernbert'"],
    [encoder, { norm_bias: true }, 'norm_bias: only encoders without this bias can be run'],
    [encoder, { attention_bias: true }, 'attention_bias: only'],
    [encoder, { mlp_bias: true }, 'mlp_bias: only'],
    [
      encoder,
      { hidden_activation: 'gelu_pytorch_tanh' },
      "hidden_activation: 'gelu_pytorch_tanh' is not 'gelu'",
    ],
    [encoder, { hidden_size: undefined }, 'hidden_size: missing'],
    [encoder, { vocab_size: null }, 'vocab_size: missing'],
    [encoder, { num_attention_heads: 3 }, 'num_attention_heads: 3 heads do not divide 256 into even widths'],
    [
      encoder,
      { num_attention_heads: 256 },
      'num_attention_heads: 256 heads do not divide 256 into even widths',
    ],
    [
      encoder,
      { hidden_size: 200 },
      'hidden_size: 200 cannot be divided among the 3 heads of the decision head',
    ],
    [
      encoder,
      { num_hidden_layers: 5 },
      "tensor 'encoder.layers.5.attn.Wo.weight' does not belong to this network (and 5 more)",
    ],
    [encoder, { num_hidden_layers: 7 }, "tensor 'encoder.layers.6.attn_norm.weight' is missing (and 5 more)"],
    [
      encoder,
      { intermediate_size: 353 },
      "'encoder.layers.0.mlp.Wi.weight' has shape [704, 256], the configuration needs [706, 256] (and 11 more)",
    ],
    [encoder, { local_attention: undefined }, 'local_attention: missing'],
    [encoder, { global_attn_every_n_layers: undefined }, 'global_attn_every_n_layers: missing'],
    [encoder, { layer_types: ['full_attention'] }, 'layer_types: a list of 6 entries is expected'],
    [encoder, { layer_types: Array(6).fill('linear') }, "layer_types: 'linear' is neither"],
    [
      encoder,
      { local_rope_theta: undefined },
      'local_rope_theta: the RoPE base of sliding layers is missing',
    ],
    [encoder, { global_rope_theta: 'x' }, 'global_rope_theta: the RoPE base of global layers is missing'],
    [
      encoder,
      { ...rope({ rope_theta: -1 }, {}) },
      'rope_parameters.full_attention.rope_theta: the RoPE base',
    ],
    [
      encoder,
      { ...rope({ rope_theta: 1e4, rope_type: 'yarn' }, {}) },
      "rope_parameters.rope_type: 'yarn' is not 'default'",
    ],
    [
      encoder,
      { rope_scaling: { type: 'linear', factor: 2 } },
      "rope_scaling.rope_type: 'linear' is not 'default'",
    ],
    [encoder, { norm_eps: 0 }, 'norm_eps: 0 is not a positive number'],
  ])('%s %j', (file, members, sentence) => {
    const message = refusal(() => openCheckpoint(changed(demo, file, members)))
    expect(message).toContain(sentence)
    expect(message).toMatch(/^(rl_agent_config\.json|encoder\/config\.json|model\.safetensors): /)
  })

  it.each<[string, string, string]>([
    ['rl_agent_config.json', '{"a":', 'rl_agent_config.json: not valid JSON'],
    ['encoder/config.json', '[]', 'encoder/config.json: not a JSON object'],
    ['tokenizer/tokenizer.json', '{}', "tokenizer/tokenizer.json: added_tokens: no id for cls_token '[CLS]'"],
    ['tokenizer/tokenizer_config.json', '{}', 'tokenizer/tokenizer_config.json: cls_token: missing'],
    ['model.safetensors', 'short', 'model.safetensors: 5 bytes are too few for a header'],
  ])('%s with %j', (file, text, sentence) => {
    cpSync(demo, folder, { recursive: true })
    writeFileSync(join(folder, file), text)
    expect(refusal(() => openCheckpoint(folder))).toContain(sentence)
    rmSync(join(folder, file))
    expect(refusal(() => openCheckpoint(folder))).toMatch(
      new RegExp(`^${file}: the file (is missing|cannot be)`),
    )
  })

  it('refuses token ids beyond the embeddings', () => {
    const path = 'tokenizer/tokenizer.json'
    const { added_tokens } = JSON.parse(readFileSync(join(demo, path), 'utf8'))
    const extra = [...added_tokens, { id: 8000, content: '<extra>', special: false }]
    expect(refusal(() => openCheckpoint(changed(demo, path, { added_tokens: extra })))).toBe(
      "tokenizer/tokenizer.json: token '<extra>' has the id 8000, but the embeddings have 8000 rows",
    )
  })
})

describe('reading rules', () => {
  it('takes the newer RoPE form before the older, and a sliding base of null as the global one', () => {
    const newer = changed(demo, 'encoder/config.json', {
      rope_parameters: { full_attention: { rope_theta: 5000 }, sliding_attention: { rope_theta: 700 } },
    })
    expect(
      readArchitecture(newer)
        .layers.slice(0, 2)
        .map(({ theta }) => theta),
    ).toEqual([5000, 700])
    const older = changed(demo, 'encoder/config.json', { local_rope_theta: null })
    expect(readArchitecture(older).layers.map(({ theta }) => theta)).toEqual(Array(6).fill(160000))
  })

  it('fills what the reference fills', () => {
    cpSync(demo, folder, { recursive: true })
    writeFileSync(
      join(folder, 'rl_agent_config.json'),
      '{"encoder": "x", "head_layers": 2, "act_costs": {"a": 1}}',
    )
    const { maxLen, headMaxLen, temperature, temperatureByOptions } = readArchitecture(folder)
    expect([maxLen, headMaxLen, temperature, temperatureByOptions]).toEqual([512, 192, [1, 1, 1], {}])
  })

  it('reads the bare NaN and Infinity that Python writes', () => {
    cpSync(demo, folder, { recursive: true })
    writeFileSync(
      join(folder, 'rl_agent_config.json'),
      '{"encoder": "NaN", "head_layers": 2, "act_costs": {"Infinity": 1}, "temperature": [NaN, -Infinity, 2]}',
    )
    expect(readArchitecture(folder).temperature).toEqual([null, null, 2])
  })

  it('takes token names given as objects', () => {
    const copy = changed(demo, 'tokenizer/tokenizer_config.json', {
      mask_token: { content: '[MASK]', lstrip: true },
    })
    expect(openCheckpoint(copy).special.maskString).toBe('[MASK]')
  })
})
