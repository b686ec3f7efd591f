import { fileURLToPath } from 'node:url'
import type { Architecture } from '../models/config.ts'

export type ShapeName =
  | 'english'
  | 'multilingual'
  | 'typed-decisions'
  | 'small-english'
  | 'small-multilingual'
  | 'small-typed-decisions'

/** A checkpoint without weights: what its configuration files say, and whose tokenizer it borrows. */
export interface CheckpointShape {
  vocabSize: number
  hiddenSize: number
  layers: number
  heads: number
  intermediateSize: number
  slidingTheta: number
  maxLen: number
  headMaxLen: number
  /** Type of the unused `temperature` tensor: the published files differ. */
  temperatureType: 'F32' | 'F16'
  tokenizer: 'modernbert' | 'demo' | 'fixture'
}

const ENGLISH: CheckpointShape = {
  vocabSize: 50368,
  hiddenSize: 1024,
  layers: 28,
  heads: 16,
  intermediateSize: 2624,
  slidingTheta: 10000,
  maxLen: 512,
  headMaxLen: 192,
  temperatureType: 'F32',
  tokenizer: 'modernbert',
}
const MULTILINGUAL: CheckpointShape = {
  vocabSize: 256000,
  hiddenSize: 768,
  layers: 22,
  heads: 12,
  intermediateSize: 1152,
  slidingTheta: 160000,
  maxLen: 1024,
  headMaxLen: 256,
  temperatureType: 'F32',
  // The genuine file is 34 MB. Its ids stay far below this vocabulary's size.
  tokenizer: 'fixture',
}
const TYPED_DECISIONS: CheckpointShape = {
  ...ENGLISH,
  maxLen: 1024,
  headMaxLen: 256,
  temperatureType: 'F16',
}

/** Same layers, windows and angles, narrow enough for a test. */
const NARROW = { hiddenSize: 128, heads: 2, intermediateSize: 192 }

/** The three published shapes, and the same networks in a size for tests. */
export const CHECKPOINT_SHAPES: Record<ShapeName, CheckpointShape> = {
  english: ENGLISH,
  multilingual: MULTILINGUAL,
  'typed-decisions': TYPED_DECISIONS,
  'small-english': { ...ENGLISH, ...NARROW, vocabSize: 8000, tokenizer: 'demo' },
  'small-multilingual': { ...MULTILINGUAL, ...NARROW, vocabSize: 4096 },
  'small-typed-decisions': { ...TYPED_DECISIONS, ...NARROW, vocabSize: 8000, tokenizer: 'demo' },
}

const GLOBAL_THETA = 160000
const GLOBAL_EVERY = 3
const LOCAL_ATTENTION = 128

/** The shape as `readArchitecture` gives it for the files that `configurationFiles` describes. */
export function architectureOf(shape: CheckpointShape): Architecture {
  return {
    vocabSize: shape.vocabSize,
    hiddenSize: shape.hiddenSize,
    intermediateSize: shape.intermediateSize,
    heads: shape.heads,
    layers: Array.from({ length: shape.layers }, (_, layer) =>
      layer % GLOBAL_EVERY === 0
        ? { kind: 'global', theta: GLOBAL_THETA }
        : { kind: 'sliding', theta: shape.slidingTheta },
    ),
    halfWindow: LOCAL_ATTENTION / 2,
    normEps: 1e-5,
    headLayers: 2,
    headHeads: Math.max(1, Math.floor(shape.hiddenSize / 64)),
    actClasses: 2,
    maxLen: shape.maxLen,
    headMaxLen: shape.headMaxLen,
    maxPositions: 8192,
    temperature: [1, 1, 1],
    temperatureByOptions: {},
  }
}

/** `rl_agent_config.json` and `encoder/config.json`. */
export function configurationFiles(name: ShapeName): Record<string, unknown> {
  const shape = CHECKPOINT_SHAPES[name]
  return {
    'rl_agent_config.json': {
      encoder: `random-${name}`,
      model_name: `random-${name}`,
      head_layers: 2,
      max_len: shape.maxLen,
      head_max_len: shape.headMaxLen,
      act_costs: { escalate: 0.5 },
      temperature: [1, 1, 1],
    },
    'encoder/config.json': {
      model_type: 'modernbert',
      vocab_size: shape.vocabSize,
      hidden_size: shape.hiddenSize,
      num_hidden_layers: shape.layers,
      num_attention_heads: shape.heads,
      intermediate_size: shape.intermediateSize,
      local_attention: LOCAL_ATTENTION,
      global_attn_every_n_layers: GLOBAL_EVERY,
      global_rope_theta: GLOBAL_THETA,
      local_rope_theta: shape.slidingTheta,
      norm_eps: 1e-5,
      norm_bias: false,
      attention_bias: false,
      mlp_bias: false,
      hidden_activation: 'gelu',
      max_position_embeddings: 8192,
    },
  }
}

/** Files of the tokenizer a shape borrows; `config` is written where the source has none. */
export function tokenizerSource({ tokenizer }: CheckpointShape): { folder: string; config?: unknown } {
  const resolve = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  if (tokenizer === 'demo') return { folder: resolve('../models/demo/tokenizer') }
  if (tokenizer === 'fixture') {
    return { folder: resolve('../e2e/data/checkpoints/fixture-multilingual/tokenizer') }
  }
  return {
    folder: resolve('../e2e/data/tokenizers/modernbert'),
    config: {
      cls_token: '[CLS]',
      sep_token: '[SEP]',
      pad_token: '[PAD]',
      mask_token: '[MASK]',
      unk_token: '[UNK]',
    },
  }
}
