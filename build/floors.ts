import { parseSync } from 'vite'

/** One import of a file: static, re-export, dynamic, `require` or a type reference. */
export interface Import {
  /** As written. `null`: computed at run time. */
  specifier: string | null
  typeOnly: boolean
}

/** Everything a source file imports, in order of appearance. Throws when the file cannot be parsed. */
export function importsOf(path: string, source: string): Import[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`)
  const found: Import[] = []
  visit(program as unknown as Node)
  return found

  function visit(node: Node): void {
    if (node.type === 'ImportDeclaration') add(node.source, node.importKind === 'type')
    else if (node.type === 'ExportNamedDeclaration' || node.type === 'ExportAllDeclaration') {
      if (node.source) add(node.source, node.exportKind === 'type')
    } else if (node.type === 'ImportExpression') add(node.source, false)
    else if (node.type === 'TSImportType') add(node.source ?? node.argument, true)
    else if (node.type === 'CallExpression' && isRequire(node.callee)) add(node.arguments?.[0], false)
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
    }
  }

  function add(source: Node | undefined, typeOnly: boolean): void {
    const value = source?.type === 'Literal' ? source.value : undefined
    found.push({ specifier: typeof value === 'string' ? value : null, typeOnly })
  }
}

interface Node {
  type: string
  source?: Node
  argument?: Node
  arguments?: Node[]
  callee?: Node
  importKind?: string
  exportKind?: string
  name?: string
  value?: unknown
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

/** `require`, or what `createRequire` is assigned to here by habit. */
function isRequire(callee: Node | undefined): boolean {
  return callee?.type === 'Identifier' && callee.name === 'require'
}

/** Files of `models/` without a node: import below them: the domain may lean on these. */
const PURE_MODELS = [
  'json',
  'python',
  'question',
  'sequence',
  'pass',
  'errors',
  'config',
  'decode',
  'catalog',
  'source',
].map((name) => `models/${name}.ts`)

interface Floor {
  name: string
  owns: RegExp
  /** Whether people reach this floor from above; tests may use every floor up to their own height. */
  height: number
  files: (RegExp | string)[]
  packages: (RegExp | string)[]
  /** Only types of these. */
  types?: (RegExp | string)[]
}

/** One truth for where files lie, one way to write a log: small, and free of everything the service is made of. */
const SHARED_WITH_SHELL = ['models/errors.ts', 'models/data-folder.ts', 'electron/service/log.ts']

const NODE = /^node:/
const CONTRACT = 'electron/contract.ts'
const BELOW_ENGINE = [CONTRACT, /^electron\/domain\//, /^models\//]

/** The import law (docs/architecture.md). The first floor that owns a file decides. */
export const FLOORS: Floor[] = [
  {
    name: 'contract',
    owns: /^electron\/contract\.ts$/,
    height: 0,
    files: [],
    packages: [],
    types: [/./],
  },
  {
    name: 'domain',
    owns: /^electron\/domain\//,
    height: 0,
    files: [CONTRACT, /^electron\/domain\//, ...PURE_MODELS],
    packages: ['zod'],
    types: [/^electron\/(engine|service)\//, /^models\//],
  },
  {
    name: 'models',
    owns: /^models\//,
    height: 0,
    files: [/^models\//],
    packages: [NODE, '@huggingface/tokenizers', 'jsonc-parser', 'undici'],
  },
  {
    name: 'onnxruntime',
    owns: /^electron\/engine\/onnx\.ts$/,
    height: 1,
    files: [/^electron\/engine\//, 'native-ep/index.ts', ...BELOW_ENGINE],
    packages: [NODE, 'onnxruntime-node'],
  },
  {
    name: 'engine',
    owns: /^electron\/engine\//,
    height: 1,
    files: [/^electron\/engine\//, 'native-ep/index.ts', ...BELOW_ENGINE],
    packages: [NODE, 'zod'],
    types: ['onnxruntime-node', 'onnxruntime-common'],
  },
  {
    name: 'protocol',
    owns: /^bench\/protocol\//,
    height: 1,
    files: [/^bench\/protocol\//, ...BELOW_ENGINE],
    packages: [NODE, 'zod'],
  },
  {
    name: 'service',
    owns: /^electron\/service\//,
    height: 2,
    files: [/^electron\/(service|engine)\//, /^bench\/protocol\//, ...BELOW_ENGINE],
    packages: [NODE, 'zod'],
  },
  {
    name: 'shell',
    owns: /^electron\/shell\//,
    height: 3,
    files: [/^electron\/shell\//, CONTRACT, /^electron\/domain\//, ...SHARED_WITH_SHELL],
    packages: [NODE, 'electron', 'zod'],
  },
  {
    name: 'command line',
    owns: /^electron\/cli\//,
    height: 3,
    files: [/^electron\/(cli|service|engine)\//, /^bench\//, ...BELOW_ENGINE, 'package.json'],
    packages: [NODE, 'zod'],
  },
  {
    // Never shipped: it measures single layers, so it may open any of them.
    name: 'bench',
    owns: /^bench\//,
    height: 3,
    files: [
      /^electron\/(cli|service|engine)\//,
      /^(bench|native-ep|build)\//,
      ...BELOW_ENGINE,
      'package.json',
    ],
    packages: [/^(?!electron$)/],
  },
  {
    name: 'renderer build',
    owns: /^renderer\/vite\.config\.ts$/,
    height: 3,
    files: [/^renderer\//, /^electron\/domain\//],
    packages: [NODE, 'vite', '@vitejs/plugin-react'],
  },
  {
    name: 'renderer',
    owns: /^renderer\//,
    height: 3,
    files: [/^renderer\//],
    packages: [
      'react',
      'react-dom',
      /^react-dom\//,
      'react/jsx-runtime',
      'recharts',
      'zustand',
      /^zustand\//,
    ],
    types: [CONTRACT],
  },
  {
    name: 'native-ep tools',
    owns: /^native-ep\/(test\/|sanitize\.ts$|build\.ts$)/,
    height: 0,
    files: [/^native-ep\//, /^models\//],
    packages: [/^(?!electron$)/],
  },
  { name: 'native-ep', owns: /^native-ep\//, height: 0, files: [/^native-ep\//], packages: [NODE] },
  {
    name: 'top',
    owns: /^((e2e|build)\/|electron\/floors\.test\.ts$)/,
    height: 4,
    files: [/./],
    packages: [/^(?!electron$)/],
    types: [/./],
  },
]

const TEST = /\.(test|spec)\.tsx?$/
/** Beside what is below them, tests may use the data of the tree and the doubles that stand for the outside world. */
const TEST_DATA = /^(e2e\/(?!.*\.spec\.ts$)|bench\/.*\.json$|models\/demo\/|build\/|package\.json$)/

/**
 * Why this import is not allowed, or `null`.
 *
 * @param path of the importing file, `/`-separated, relative to the root of the tree.
 * @param target what it imports: a path relative to the root, or the name of a package.
 */
export function breach(path: string, target: string, typeOnly: boolean, inTree: boolean): string | null {
  const floor = FLOORS.find((candidate) => candidate.owns.test(path))
  if (floor === undefined) return `${path} stands on no floor`
  const refused = `${path} (${floor.name}) may not import ${typeOnly ? 'types of ' : ''}${target}`
  // The binary is fetched when the package's own entry runs, so no test may ever run it.
  if (target === 'electron' && !typeOnly && (floor.name !== 'shell' || TEST.test(path))) return refused
  if (matches(inTree ? floor.files : floor.packages, target)) return null
  if (typeOnly && matches(floor.types ?? [], target)) return null
  if (!TEST.test(path)) return refused
  if (!inTree) return null
  const below = FLOORS.find((candidate) => candidate.owns.test(target))
  return TEST_DATA.test(target) || (below !== undefined && below.height <= floor.height) ? null : refused
}

function matches(rules: (RegExp | string)[], target: string): boolean {
  return rules.some((rule) => (typeof rule === 'string' ? rule === target : rule.test(target)))
}
