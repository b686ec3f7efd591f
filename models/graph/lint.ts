import { CORE_ML_OPERATORS } from './core-ml.ts'
import { type Dim, ELEMENT_BYTES, type ElementType, type Model, type Node, type Tensor } from './model.ts'

/** One breach of the rules under which Core ML takes a graph as a whole. */
export interface Finding {
  rule:
    | 'operator'
    | 'gemm'
    | 'layer-norm'
    | 'constant-input'
    | 'fusion-trap'
    | 'shape'
    | 'name'
    | 'input'
    | 'cache-key'
    | 'external-data'
    | 'partition'
  /** Node, value or initializer. */
  at: string
  sentence: string
}

/** What is known of a value while a graph is judged. */
export interface Known {
  type: ElementType
  dims: Dim[]
}

/** A graph with its look-ups. */
export interface Scope {
  model: Model
  /** Declared type and shape of every value; undefined where the file declares none. */
  known(name: string): Known | undefined
  initializer(name: string): Tensor | undefined
  producer(name: string): Node | undefined
  consumers(name: string): Node[]
}

/**
 * Judges a fixed-length graph by the rules of onnxruntime's Core ML provider, which reports nothing but slowness when
 * they are broken: unsupported nodes cut the graph into partitions that run on the CPU.
 * @param fileBytes size of a file in the graph's folder; undefined when there is none.
 */
export function lintGraph(model: Model, fileBytes: (name: string) => number | undefined): Finding[] {
  const scope = createScope(model)
  const { partitions, cpuNodes } = predictPlacement(model)
  const placed: Finding[] =
    partitions === 1 && cpuNodes.length === 0
      ? []
      : [
          {
            rule: 'partition',
            at: cpuNodes[0] ?? model.graph.name,
            sentence: `${partitions} partitions and ${cpuNodes.length} CPU nodes are predicted, not 1 and 0.`,
          },
        ]
  return [
    ...model.graph.nodes.flatMap((node) => lintNode(node, scope)),
    ...lintValues(scope),
    ...lintInterface(model),
    ...model.graph.initializers.flatMap((tensor) => lintExternal(tensor, fileBytes)),
    ...placed,
  ]
}

function lintNode(node: Node, scope: Scope): Finding[] {
  const found = (rule: Finding['rule'], sentence: string): Finding => ({ rule, at: node.name, sentence })
  const findings = refusals(node, scope).map((sentence) => found('operator', `${node.op}: ${sentence}`))
  const constant = (input: number) => scope.initializer(node.inputs[input] ?? '') !== undefined
  if (node.op === 'Gemm') {
    const int = (name: string, fallback: number) => number(node, name, fallback)
    if (!constant(1) || (node.inputs[2] !== undefined && !constant(2)))
      findings.push(found('gemm', 'B and C must be initializers.'))
    if (int('transA', 0) !== 0 || int('transB', 0) !== 1)
      findings.push(found('gemm', 'transA must be 0 and transB 1.'))
    if (int('alpha', 1) !== 1 || int('beta', 1) !== 1)
      findings.push(found('gemm', 'alpha and beta must be 1.'))
    const neighbours = [
      scope.producer(node.inputs[0] ?? ''),
      ...node.outputs.flatMap((output) => scope.consumers(output)),
    ]
    if (neighbours.some((one) => one?.op === 'Transpose'))
      findings.push(found('fusion-trap', 'A Transpose beside a Gemm is fused into transA.'))
  }
  if (node.op === 'LayerNormalization') {
    const x = scope.known(node.inputs[0] ?? '')
    const parameters = node.inputs.slice(1).map((name) => scope.initializer(name))
    if (
      parameters.length === 0 ||
      parameters.some((tensor) => tensor === undefined || tensor.type !== x?.type)
    )
      findings.push(found('layer-norm', "Scale and bias must be initializers of the input's type."))
    if (number(node, 'axis', 1) !== -1) findings.push(found('layer-norm', 'axis must be present and -1.'))
    if (node.outputs.length !== 1) findings.push(found('layer-norm', 'One output only.'))
  }
  const NEED_CONSTANT = ['Reshape', 'Split', 'Slice', 'Squeeze', 'Unsqueeze']
  if (NEED_CONSTANT.includes(node.op) && !constant(1))
    findings.push(found('constant-input', `The second input of ${node.op} must be an initializer.`))
  if (node.op === 'Sum' || node.op === 'Neg')
    findings.push(found('fusion-trap', `${node.op} is never written.`))
  if (node.op === 'MatMul' && scope.known(node.inputs[1] ?? '')?.dims.length === 2) {
    if (node.outputs.some((output) => scope.consumers(output).some((one) => one.op === 'Add')))
      findings.push(
        found('fusion-trap', 'A MatMul with a rank-2 B before an Add becomes a Gemm with varying C.'),
      )
  }
  return findings
}

function lintValues({ model, known }: Scope): Finding[] {
  const { graph } = model
  const findings: Finding[] = []
  const names = new Set([
    ...graph.initializers.map((tensor) => tensor.name),
    ...graph.nodes.flatMap((node) => [node.name, ...node.outputs]),
    ...[...graph.inputs, ...graph.outputs].map((value) => value.name),
  ])
  for (const name of names) {
    if (!/^[A-Za-z0-9_]+$/.test(name))
      findings.push({ rule: 'name', at: name, sentence: 'Letters, digits and underscores only.' })
  }
  for (const name of graph.nodes.flatMap((node) => node.outputs)) {
    const value = known(name)
    if (value === undefined || value.dims.some((dim) => typeof dim !== 'number'))
      findings.push({ rule: 'shape', at: name, sentence: 'Every value needs a declared shape of numbers.' })
    else if (value.dims.length > 4)
      findings.push({ rule: 'shape', at: name, sentence: `Rank ${value.dims.length}; four is the limit.` })
  }
  return findings
}

function lintInterface({ graph, metadata }: Model): Finding[] {
  const findings: Finding[] = []
  for (const { name, type, dims } of graph.inputs) {
    if (type !== 'float32' && type !== 'float16')
      findings.push({
        rule: 'input',
        at: name,
        sentence: `An input of type ${type} reaches Core ML as int32.`,
      })
    if (dims.some((dim) => typeof dim !== 'number'))
      findings.push({ rule: 'shape', at: name, sentence: 'Every dimension of an input is a number.' })
  }
  if (!/^[A-Za-z0-9]{1,64}$/.test(metadata.COREML_CACHE_KEY ?? ''))
    findings.push({
      rule: 'cache-key',
      at: graph.name,
      sentence: 'COREML_CACHE_KEY must be 1 to 64 letters and digits.',
    })
  return findings
}

function lintExternal(
  { name, type, dims, data }: Tensor,
  fileBytes: (name: string) => number | undefined,
): Finding[] {
  if (data instanceof Uint8Array) return []
  const found = (sentence: string): Finding[] => [{ rule: 'external-data', at: name, sentence }]
  if (!/^[A-Za-z0-9._-]+$/.test(data.location) || data.location.startsWith('.'))
    return found(`'${data.location}' is not a plain file name: weights lie beside the graph.`)
  const expected = dims.reduce((product, dim) => product * dim, ELEMENT_BYTES[type])
  if (data.bytes !== expected) return found(`${data.bytes} bytes are named, the shape needs ${expected}.`)
  const size = fileBytes(data.location)
  if (size === undefined) return found(`There is no file ${data.location}.`)
  if (data.offset < 0 || data.offset + data.bytes > size)
    return found(`Byte ${data.offset + data.bytes} is beyond the end of ${data.location} (${size}).`)
  return []
}

/** Why Core ML would refuse a node; empty when it takes it. */
export function refusals(node: Node, scope: Scope): string[] {
  const rule = CORE_ML_OPERATORS[node.op]
  if (rule === undefined) return ['there is no such operator in Core ML.']
  const reasons: string[] = []
  for (const [at, input] of node.inputs.entries()) {
    if (input === '') continue
    const value = scope.known(input)
    if (value === undefined) reasons.push(`the shape of ${input} is not declared.`)
    else {
      if (value.dims.length > 5) reasons.push(`${input} has rank ${value.dims.length}.`)
      if (value.dims.some((dim) => typeof dim !== 'number')) reasons.push(`${input} has an open dimension.`)
      if (value.dims.includes(0)) reasons.push(`${input} is empty.`)
      if (at === 0 && !['float32', 'float16', 'int64', ...(rule.firstTypes ?? [])].includes(value.type))
        reasons.push(`${input} is ${value.type}.`)
    }
  }
  return [...reasons, ...rule.check(node, scope)]
}

/** Nodes that a partition must not consist of alone: the provider gives such partitions back to the CPU. */
const TRIVIAL = new Set([
  'Reshape',
  'Transpose',
  'Squeeze',
  'Unsqueeze',
  'Cast',
  'Identity',
  'Tile',
  'Flatten',
  'Ceil',
])

/**
 * How onnxruntime would divide the graph: it walks the nodes in topological order and defers a refused node that hangs
 * on the group it is collecting, until nothing else is left; then the group is closed as one partition.
 */
export function predictPlacement(model: Model): { partitions: number; cpuNodes: string[] } {
  const scope = createScope(model)
  const { nodes } = model.graph
  const waiting = new Map(
    nodes.map((node) => [
      node,
      new Set(node.inputs.map(scope.producer).filter((one) => one !== undefined)).size,
    ]),
  )
  const cpuNodes: string[] = []
  const groups: Node[][] = []
  let group: Node[] = []
  let border = new Set<Node>()
  let ready = nodes.filter((node) => waiting.get(node) === 0)
  let deferred: Node[] = []
  const close = () => {
    if (group.length > 0) groups.push(group)
    group = []
    border = new Set()
  }
  while (ready.length > 0 || deferred.length > 0) {
    const node = ready.shift()
    if (node === undefined) {
      close()
      ready = deferred
      deferred = []
      continue
    }
    const taken = refusals(node, scope).length === 0
    if (!taken && border.has(node)) {
      deferred.push(node)
      continue
    }
    const next = new Set(node.outputs.flatMap((output) => scope.consumers(output)))
    if (taken) {
      group.push(node)
      border.delete(node)
      for (const one of next) border.add(one)
    } else cpuNodes.push(node.name)
    for (const one of next) {
      const left = waiting.get(one)! - 1
      waiting.set(one, left)
      if (left === 0) ready.push(one)
    }
  }
  close()
  const kept = groups.filter((one) => one.some((node) => !TRIVIAL.has(node.op)))
  for (const one of groups) {
    if (!kept.includes(one)) cpuNodes.push(...one.map((node) => node.name))
  }
  return { partitions: kept.length, cpuNodes }
}

function createScope(model: Model): Scope {
  const { graph } = model
  const values = new Map<string, Known>()
  for (const value of [...graph.values, ...graph.inputs, ...graph.outputs, ...graph.initializers]) {
    values.set(value.name, value)
  }
  const tensors = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]))
  const producers = new Map<string, Node>()
  const consumers = new Map<string, Node[]>()
  for (const node of graph.nodes) {
    for (const output of node.outputs) producers.set(output, node)
    for (const input of node.inputs) consumers.set(input, [...(consumers.get(input) ?? []), node])
  }
  return {
    model,
    known: (name) => values.get(name),
    initializer: (name) => tensors.get(name),
    producer: (name) => producers.get(name),
    consumers: (name) => consumers.get(name) ?? [],
  }
}

function number(node: Node, name: string, fallback: number): number {
  const attribute = node.attributes[name]
  return attribute?.kind === 'int' || attribute?.kind === 'float' ? attribute.value : fallback
}
