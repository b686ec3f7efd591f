import { writeFileSync } from 'node:fs'
import type { Model } from '../../models/graph/model.ts'
import { encodeModel } from '../../models/graph/writer.ts'

/** y = relu(x · wᵀ + b) with w [3, 2] and b [3]: small enough to check by hand, two nodes to find in an assignment. */
export function writeTinyGraph(path: string): void {
  const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer)
  const model: Model = {
    irVersion: 9,
    opsets: { '': 20 },
    metadata: {},
    graph: {
      name: 'tiny',
      nodes: [
        {
          name: 'linear',
          op: 'Gemm',
          domain: '',
          inputs: ['x', 'w', 'b'],
          outputs: ['z'],
          attributes: { transB: { kind: 'int', value: 1 } },
        },
        { name: 'relu', op: 'Relu', domain: '', inputs: ['z'], outputs: ['y'], attributes: {} },
      ],
      inputs: [{ name: 'x', type: 'float32', dims: ['n', 2] }],
      outputs: [{ name: 'y', type: 'float32', dims: ['n', 3] }],
      values: [{ name: 'z', type: 'float32', dims: ['n', 3] }],
      initializers: [
        { name: 'w', type: 'float32', dims: [3, 2], data: floats(1, 2, 3, 4, 5, 6) },
        { name: 'b', type: 'float32', dims: [3], data: floats(0, 0.5, -100) },
      ],
    },
  }
  writeFileSync(path, encodeModel(model))
}
