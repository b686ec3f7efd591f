import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))

// Two projects: `unit` shares the cores; `system` opens sockets, engines and browsers, one file at a time,
// so that the two cores of a CI machine are never shared by several native thread pools.
export default defineConfig({
  root,
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          root,
          include: [
            'models/**/*.test.ts',
            'electron/domain/**/*.test.ts',
            'electron/*.test.ts',
            'electron/shell/**/*.test.ts',
            'renderer/**/*.test.ts',
            'renderer/**/*.test.tsx',
            'bench/protocol/**/*.test.ts',
            'build/**/*.test.ts',
          ],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'system',
          root,
          include: [
            'electron/engine/**/*.test.ts',
            'electron/service/**/*.test.ts',
            'electron/cli/**/*.test.ts',
            'bench/*.test.ts',
            'native-ep/**/*.test.ts',
            'e2e/**/*.spec.ts',
          ],
          fileParallelism: false,
          pool: 'forks',
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
