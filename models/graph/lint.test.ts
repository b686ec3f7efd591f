import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Checkpoint, openCheckpoint } from '../checkpoint.ts'
import { writeGraph } from './laya.ts'
import { type Finding, lintGraph, predictPlacement } from './lint.ts'
import type { Model, Node, Tensor } from './model.ts'
import { getProfile } from './profile.ts'
import { decodeModel } from './reader.ts'
import { sideFileBytes } from './side-file.ts'

let checkpoint: Checkpoint
let bytes: Uint8Array
let sideBytes: number
beforeAll(() => {
  checkpoint = openCheckpoint(fileURLToPath(new URL('../demo', import.meta.url)))
  const written = writeGraph({ ...checkpoint, identity: 'test' }, getProfile('gpu'), 128)
  bytes = written.bytes
  sideBytes = sideFileBytes(written.side)
})

function fileBytes(name: string): number | undefined {
  if (name === 'model.safetensors') return checkpoint.header.fileBytes
  return name === 'laya-gpu.weights' ? sideBytes : undefined
}

function lintBroken(damage: (model: Model) => void): Finding[] {
  const model = decodeModel(bytes)
  damage(model)
  return lintGraph(model, fileBytes)
}

describe('the graph as written', () => {
  it('breaks no rule and is one partition', () => {
    const model = decodeModel(bytes)
    expect(lintGraph(model, fileBytes)).toEqual([])
    expect(predictPlacement(model)).toEqual({ partitions: 1, cpuNodes: [] })
  })

  it('the CPU form, with fused attention and open dimensions, breaks several', () => {
    const written = writeGraph({ ...checkpoint, identity: 'test' }, getProfile('cpu-fp32'))
    const rules = new Set(lintGraph(decodeModel(written.bytes), fileBytes).map((finding) => finding.rule))
    expect([...rules]).toEqual(
      expect.arrayContaining([
        'operator',
        'gemm',
        'layer-norm',
        'constant-input',
        'shape',
        'input',
        'partition',
      ]),
    )
  })
})

describe('each rule notices its trap', () => {
  const traps: { trap: string; rule: Finding['rule']; damage: (model: Model) => void }[] = [
    {
      trap: 'an operator that Core ML does not have',
      rule: 'operator',
      damage: (model) => {
        find(model, 'Relu').op = 'Neg'
      },
    },
    {
      trap: 'a node without a declared input shape',
      rule: 'operator',
      damage: (model) => {
        model.graph.values = model.graph.values.filter((value) => value.name !== 'layer1_gelu')
      },
    },
    {
      trap: 'a Gemm whose bias is computed',
      rule: 'gemm',
      damage: (model) => {
        find(model, 'Gemm').inputs[2] = 'layer0'
      },
    },
    {
      trap: 'a Gemm whose weight goes through a Cast',
      rule: 'gemm',
      damage: (model) => {
        const gemm = find(model, 'Gemm')
        castBefore(model, gemm, 1)
      },
    },
    {
      trap: 'a Gemm with the weight the other way round',
      rule: 'gemm',
      damage: (model) => {
        find(model, 'Gemm').attributes.transB = { kind: 'int', value: 0 }
      },
    },
    {
      trap: 'a Gemm with transA',
      rule: 'gemm',
      damage: (model) => {
        find(model, 'Gemm').attributes.transA = { kind: 'int', value: 1 }
      },
    },
    {
      trap: 'a Gemm with a factor',
      rule: 'gemm',
      damage: (model) => {
        find(model, 'Gemm').attributes.alpha = { kind: 'float', value: 0.125 }
      },
    },
    {
      trap: 'a LayerNormalization without axis, which Core ML reads as 1',
      rule: 'layer-norm',
      damage: (model) => {
        delete find(model, 'LayerNormalization').attributes.axis
      },
    },
    {
      trap: "a LayerNormalization whose scale is not of the input's type",
      rule: 'layer-norm',
      damage: (model) => {
        const scale = initializer(model, find(model, 'LayerNormalization').inputs[1]!)
        scale.type = 'float16'
      },
    },
    {
      trap: 'a LayerNormalization that also returns its mean',
      rule: 'layer-norm',
      damage: (model) => {
        find(model, 'LayerNormalization').outputs.push('mean')
        model.graph.values.push({ name: 'mean', type: 'float32', dims: [128, 1] })
      },
    },
    ...['Reshape', 'Split'].map((op) => ({
      trap: `a ${op} with a computed second input`,
      rule: 'constant-input' as const,
      damage: (model: Model) => {
        find(model, op).inputs[1] = 'layer0'
      },
    })),
    {
      trap: 'Sum, which is fused into a Gemm with a varying bias',
      rule: 'fusion-trap',
      damage: (model) => {
        find(model, 'Add').op = 'Sum'
      },
    },
    {
      trap: 'a MatMul of rank 2 before an Add',
      rule: 'fusion-trap',
      damage: (model) => {
        const gemm = find(model, 'Gemm', (node) => node.name.endsWith('_attn_out'))
        gemm.op = 'MatMul'
        gemm.attributes = {}
        // The residual is added behind a Cast; the trap is the direct neighbour.
        const cast = model.graph.nodes.find((node) => node.inputs[0] === gemm.outputs[0])!
        const add = model.graph.nodes.find((node) => node.inputs.includes(cast.outputs[0]!))!
        add.inputs[1] = gemm.outputs[0]!
      },
    },
    {
      trap: 'a Transpose before a Gemm',
      rule: 'fusion-trap',
      damage: (model) => {
        const gemm = find(model, 'Gemm', (node) => node.name.endsWith('_attn_out'))
        model.graph.nodes.find((node) => node.outputs[0] === gemm.inputs[0])!.op = 'Transpose'
      },
    },
    {
      trap: 'a Transpose behind a Gemm',
      rule: 'fusion-trap',
      damage: (model) => {
        const gemm = find(model, 'Gemm', (node) => node.name.endsWith('_q'))
        model.graph.nodes.find((node) => node.inputs[0] === gemm.outputs[0])!.op = 'Transpose'
      },
    },
    {
      trap: 'an open dimension',
      rule: 'shape',
      damage: (model) => {
        model.graph.values[5]!.dims[0] = 'length'
      },
    },
    {
      trap: 'rank 5',
      rule: 'shape',
      damage: (model) => {
        model.graph.values.find((value) => value.dims.length === 4)!.dims.unshift(1)
      },
    },
    {
      trap: 'a name that Core ML would rewrite',
      rule: 'name',
      damage: (model) => {
        find(model, 'Relu').name = 'head.layers.0/relu'
      },
    },
    {
      trap: 'an int64 input',
      rule: 'input',
      damage: (model) => {
        model.graph.inputs.push({ name: 'position_ids', type: 'int64', dims: [128] })
      },
    },
    {
      trap: 'a bool input',
      rule: 'input',
      damage: (model) => {
        model.graph.inputs.push({ name: 'visible', type: 'bool', dims: [128] })
      },
    },
    {
      trap: 'a cache key with other characters',
      rule: 'cache-key',
      damage: (model) => {
        model.metadata.COREML_CACHE_KEY = 'laya-s128'
      },
    },
    {
      trap: 'a cache key that is too long',
      rule: 'cache-key',
      damage: (model) => {
        model.metadata.COREML_CACHE_KEY += 'a'
      },
    },
    {
      trap: 'weights outside the folder',
      rule: 'external-data',
      damage: (model) => {
        external(model).location = '../model.safetensors'
      },
    },
    {
      trap: 'weights beyond the end of the file',
      rule: 'external-data',
      damage: (model) => {
        external(model).offset = checkpoint.header.fileBytes
      },
    },
    {
      trap: 'weights of another length than the shape needs',
      rule: 'external-data',
      damage: (model) => {
        external(model).bytes -= 2
      },
    },
    {
      trap: 'weights in a file that is not there',
      rule: 'external-data',
      damage: (model) => {
        external(model).location = 'laya-ane.weights'
      },
    },
  ]

  it.each(traps)('$trap', ({ rule, damage }) => {
    expect(lintBroken(damage).map((finding) => finding.rule)).toContain(rule)
  })
})

describe('predicted placement', () => {
  it('a refused node in the middle gives two partitions and one CPU node', () => {
    const model = decodeModel(bytes)
    const node = find(model, 'Gelu', (one) => one.name === 'layer2_gelu')
    node.op = 'FastGelu'
    expect(predictPlacement(model)).toEqual({ partitions: 2, cpuNodes: ['layer2_gelu'] })
  })

  it('a partition of trivial nodes goes back to the CPU', () => {
    const model = decodeModel(bytes)
    for (const node of model.graph.nodes) {
      if (!['Cast', 'Reshape', 'Transpose'].includes(node.op)) node.op = 'Unknown'
    }
    const { partitions, cpuNodes } = predictPlacement(model)
    expect(partitions).toBe(0)
    expect(cpuNodes).toHaveLength(model.graph.nodes.length)
  })
})

function find(model: Model, op: string, matches: (node: Node) => boolean = () => true): Node {
  const node = model.graph.nodes.find((one) => one.op === op && matches(one))
  if (node === undefined) throw new Error(`The graph has no such ${op}.`)
  return node
}

function initializer(model: Model, name: string): Tensor {
  const tensor = model.graph.initializers.find((one) => one.name === name)
  if (tensor === undefined) throw new Error(`The graph has no initializer ${name}.`)
  return tensor
}

function external(model: Model): { location: string; offset: number; bytes: number } {
  const tensor = model.graph.initializers.find((one) => !(one.data instanceof Uint8Array))
  if (tensor === undefined || tensor.data instanceof Uint8Array)
    throw new Error('No weights outside the file.')
  return tensor.data
}

function castBefore(model: Model, node: Node, input: number): void {
  const weight = initializer(model, node.inputs[input]!)
  const name = `${weight.name}_cast`
  model.graph.values.push({ name, type: 'float16', dims: weight.dims })
  model.graph.nodes.unshift({
    name,
    op: 'Cast',
    domain: '',
    inputs: [weight.name],
    outputs: [name],
    attributes: { to: { kind: 'int', value: 10 } },
  })
  node.inputs[input] = name
}
