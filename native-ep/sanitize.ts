// Builds the addon with AddressSanitizer and UBSan beside the real one and feeds it wrong arguments (Linux, gcc):
// `npm run sanitize:native`. Exit code 0 only when neither sanitizer said a word.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { buildAddon } from './build.ts'
import { writeTinyGraph } from './test/graph.ts'

const here = dirname(fileURLToPath(import.meta.url))
// Inside the package, so that node-addon-api resolves; in a folder of its own, so that the real addon stays.
const folder = join(here, 'build', 'sanitized')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
cpSync(join(here, 'binding.gyp'), join(folder, 'binding.gyp'))
cpSync(join(here, 'src'), join(folder, 'src'), { recursive: true })
const status = buildAddon(folder, true)
if (status !== 0) process.exit(status)

const script = join(folder, 'exercise.mjs')
await build({
  entryPoints: [join(here, 'test/exercise.ts')],
  outfile: script,
  bundle: true,
  platform: 'node',
  format: 'esm',
})
const graph = join(folder, 'tiny.onnx')
writeTinyGraph(graph)
const binding = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'))
const library = join(binding, 'bin/napi-v6/linux', process.arch, 'libonnxruntime.so.1')
const preload = spawnSync('c++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).stdout.trim()
const addon = join(folder, 'build/Release/laya_native_ep.node')
const result = spawnSync(process.execPath, [script, addon, library, graph, '1500'], {
  // Node itself leaves memory to the system at exit, so leaks are not judged here.
  env: { ...process.env, LD_PRELOAD: preload, ASAN_OPTIONS: 'detect_leaks=0' },
  encoding: 'utf8',
})
const clean = result.status === 0 && !/AddressSanitizer|runtime error/.test(result.stderr)
console.log(clean ? `sanitizers are silent: ${result.stdout.trim()}` : result.stderr)
process.exit(clean ? 0 : 1)
