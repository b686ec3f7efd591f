import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { breach, importsOf } from '../build/floors.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Every source file of the tree, ignored ones excepted. */
function sources(): string[] {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.ts', '*.tsx'], {
    cwd: root,
  })
  return listed
    .toString()
    .split('\n')
    .filter((path) => path !== '' && existsSync(posix.join(root, path)))
}

function breaches(path: string, source: string): string[] {
  return importsOf(path, source).flatMap(({ specifier, typeOnly }) => {
    // A path made at run time cannot be judged; only the loader of the native addon needs one.
    if (specifier === null)
      return /^(electron\/engine\/native|native-ep\/)/.test(path) || /^(e2e|build)\//.test(path)
        ? []
        : [`${path} imports a computed path`]
    const inTree = specifier.startsWith('.')
    const target = inTree ? posix.join(posix.dirname(path), specifier) : specifier
    return breach(path, target.replace(/\?.*$/, ''), typeOnly, inTree) ?? []
  })
}

test('every import of the tree obeys the law', () => {
  const files = sources()
  expect(files.length).toBeGreaterThan(30)
  expect(files.flatMap((path) => breaches(path, readFileSync(posix.join(root, path), 'utf8')))).toEqual([])
})

test('what the domain runs on never reaches node:, electron or onnxruntime', () => {
  const seen = new Set<string>()
  const outside = new Set<string>()
  const open = sources().filter((path) => path.startsWith('electron/domain/') && !path.includes('.test.'))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    for (const { specifier, typeOnly } of importsOf(path, readFileSync(posix.join(root, path), 'utf8'))) {
      if (typeOnly || specifier === null) continue
      if (specifier.startsWith('.')) open.push(posix.join(posix.dirname(path), specifier))
      else outside.add(specifier)
    }
  }
  expect([...outside].filter((name) => name !== 'zod' && name !== 'jsonc-parser')).toEqual([])
})

describe('the law notices', () => {
  test.each([
    ['electron/contract.ts', "import { z } from 'zod'"],
    ['electron/domain/a.ts', "import { readFileSync } from 'node:fs'"],
    ['electron/domain/a.ts', "import { open } from '../../models/store.ts'"],
    ['electron/domain/a.ts', "export { x } from '../engine/onnx.ts'"],
    ['models/a.ts', "import type { Phase } from '../electron/contract.ts'"],
    ['models/a.ts', "const ort = await import('onnxruntime-node')"],
    ['models/a.ts', "const ort = require('onnxruntime-node')"],
    ['electron/engine/webgpu.ts', "import * as ort from 'onnxruntime-node'"],
    ['electron/engine/gate.ts', "import set from '../../bench/parity-set.json'"],
    ['bench/protocol/run.ts', "import { createEngine } from '../../electron/engine/onnx.ts'"],
    ['electron/service/http.ts', "import { app } from 'electron'"],
    ['electron/service/http.ts', "import type { App } from 'electron'"],
    ['electron/service/http.ts', "import { renderTray } from '../shell/tray.ts'"],
    ['electron/shell/tray.ts', "import { createService } from '../service/service.ts'"],
    ['electron/shell/tray.ts', "type S = import('../service/service.ts').Service"],
    ['electron/shell/tray.ts', 'const x = await import(name)'],
    ['electron/shell/tray.test.ts', "import { Tray } from 'electron'"],
    ['electron/cli/serve.ts', "import { createSpawn } from '../shell/spawn.ts'"],
    ['renderer/App.tsx', "import { CHANNEL } from '../electron/contract.ts'"],
    ['renderer/App.tsx', "import { type Phase } from '../electron/contract.ts'"],
    ['renderer/App.tsx', "import fs from 'node:fs'"],
    ['e2e/app.spec.ts', "import { app } from 'electron'"],
    ['models/a.test.ts', "import { createService } from '../electron/service/service.ts'"],
    ['stray/a.ts', "import 'node:fs'"],
  ])('%s: %s', (path, source) => {
    expect(breaches(path, source)).toHaveLength(1)
  })

  test('and lets pass what it allows', () => {
    const allowed: [string, string][] = [
      ['electron/domain/a.ts', "import { z } from 'zod'; import { LayaError } from '../../models/errors.ts'"],
      ['electron/engine/onnx.ts', "import * as ort from 'onnxruntime-node'"],
      [
        'electron/shell/main.ts',
        "import { app } from 'electron'; import { x } from '../domain/supervisor.ts'",
      ],
      ['renderer/App.tsx', "import type { Phase } from '../electron/contract.ts'; import 'react'"],
      ['electron/service/a.test.ts', "import { createOnnx } from '../engine/onnx.ts'; import 'vitest'"],
      ['e2e/electron-double/main.ts', "import type { App } from 'electron'; import 'playwright-core'"],
    ]
    expect(allowed.flatMap(([path, source]) => breaches(path, source))).toEqual([])
  })

  test('comments and texts are no imports', () => {
    expect(importsOf('a.ts', "// import 'electron'\nconst s = \"import 'electron'\"")).toEqual([])
  })
})
