import type { Architecture } from './config.ts'
import type { SafetensorsHeader } from './safetensors.ts'

/** How the file's tensors differ from what the configuration needs. All empty: the checkpoint is complete. */
export interface TensorFaults {
  missing: string[]
  surplus: string[]
  misshapen: { name: string; expected: number[]; found: number[] }[]
}

/** Width of the act head's hidden layer and number of features it gets beside the [CLS] vector. */
const actWidth = 256
const actFeatures = 4

/** Every tensor of a checkpoint with its shape; matrices are [out, in]. The inventory is complete. */
export function tensorShapes(architecture: Architecture): Map<string, number[]> {
  const { hiddenSize: D, intermediateSize: I, vocabSize, layers, headLayers, actClasses } = architecture
  const shapes = new Map<string, number[]>()
  const add = (prefix: string, members: Record<string, number[]>): void => {
    for (const [name, shape] of Object.entries(members)) shapes.set(prefix + name, shape)
  }
  add('encoder.embeddings.', { 'tok_embeddings.weight': [vocabSize, D], 'norm.weight': [D] })
  layers.forEach((_, layer) => {
    // The first layer reads the embeddings' own norm.
    if (layer > 0) add(`encoder.layers.${layer}.`, { 'attn_norm.weight': [D] })
    add(`encoder.layers.${layer}.`, {
      'attn.Wqkv.weight': [3 * D, D],
      'attn.Wo.weight': [D, D],
      'mlp_norm.weight': [D],
      'mlp.Wi.weight': [2 * I, D],
      'mlp.Wo.weight': [D, I],
    })
  })
  add('encoder.', { 'final_norm.weight': [D] })
  for (let layer = 0; layer < headLayers; layer++) {
    add(`head.layers.${layer}.`, {
      'self_attn.in_proj_weight': [3 * D, D],
      'self_attn.in_proj_bias': [3 * D],
      'self_attn.out_proj.weight': [D, D],
      'self_attn.out_proj.bias': [D],
      'linear1.weight': [4 * D, D],
      'linear1.bias': [4 * D],
      'linear2.weight': [D, 4 * D],
      'linear2.bias': [D],
      'norm1.weight': [D],
      'norm1.bias': [D],
      'norm2.weight': [D],
      'norm2.bias': [D],
    })
  }
  add('', {
    'type_emb.weight': [3, D],
    'scorer.0.weight': [D],
    'scorer.0.bias': [D],
    'scorer.1.weight': [D, D],
    'scorer.1.bias': [D],
    'scorer.3.weight': [1, D],
    'scorer.3.bias': [1],
    'act_head.0.weight': [actWidth, D + actFeatures],
    'act_head.0.bias': [actWidth],
    'act_head.2.weight': [actClasses, actWidth],
    'act_head.2.bias': [actClasses],
    temperature: [3],
  })
  return shapes
}

/** Compares a file's table with the inventory its configuration asks for. */
export function checkTensors(architecture: Architecture, header: SafetensorsHeader): TensorFaults {
  const expected = tensorShapes(architecture)
  const faults: TensorFaults = { missing: [], surplus: [], misshapen: [] }
  for (const [name, shape] of expected) {
    const found = header.tensors.get(name)?.shape
    if (found === undefined) faults.missing.push(name)
    else if (found.join() !== shape.join()) faults.misshapen.push({ name, expected: shape, found })
  }
  for (const name of header.tensors.keys()) if (!expected.has(name)) faults.surplus.push(name)
  return faults
}
