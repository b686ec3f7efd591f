// Builds the addon with the node-gyp inside npm: `npm run build:native`.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const EXIT_NO_COMPILER = 3

/** The script of the node-gyp that npm brings; null when npm is laid out in an unknown way. */
function findNodeGyp(execPath = process.execPath, npmScript = process.env.npm_execpath): string | null {
  const beside = join(dirname(dirname(execPath)), 'lib', 'node_modules', 'npm')
  const roots = npmScript ? [dirname(dirname(realpathSync(npmScript))), beside] : [beside]
  return (
    roots
      .map((root) => join(root, 'node_modules/node-gyp/bin/node-gyp.js'))
      .find((path) => existsSync(path)) ?? null
  )
}

/** Arguments for a rebuild; headers beside the running Node are used where they exist, so that nothing is fetched. */
function gypArguments(sanitize: boolean, execPath = process.execPath): string[] {
  const prefix = dirname(dirname(execPath))
  const headers = existsSync(join(prefix, 'include/node/node_api.h')) ? [`--nodedir=${prefix}`] : []
  return ['rebuild', ...headers, ...(sanitize ? ['--', '-Dsanitize=1'] : [])]
}

/** Builds the `binding.gyp` of a folder. Exit code of the build; 3 when this machine has no compiler. */
export function buildAddon(folder: string, sanitize = false): number {
  if (spawnSync('c++', ['--version']).status !== 0) {
    console.error('native-ep was not built: no C++ compiler here. Laya Bar uses the stock binding instead.')
    return EXIT_NO_COMPILER
  }
  const script = findNodeGyp()
  if (script === null) {
    console.error('native-ep was not built: npm on this machine has no node-gyp. Install npm 10 or later.')
    return 1
  }
  return (
    spawnSync(process.execPath, [script, ...gypArguments(sanitize)], { cwd: folder, stdio: 'inherit' })
      .status ?? 1
  )
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  process.exit(buildAddon(dirname(fileURLToPath(import.meta.url))))
}
