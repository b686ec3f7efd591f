import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Checkpoint, openCheckpoint } from '../../models/checkpoint.ts'
import type { ProfileName } from '../../models/graph/profile.ts'
import { prepareGraphs } from '../../models/prepare.ts'
import type { EngineSpec } from './engine.ts'

// For tests only: the checkpoints of the repository, prepared in a folder that is thrown away.

const repository = fileURLToPath(new URL('../..', import.meta.url))
export const TEST_CHECKPOINTS = {
  'laya-demo': join(repository, 'models', 'demo'),
  'fixture-multilingual': join(repository, 'e2e', 'data', 'checkpoints', 'fixture-multilingual'),
}

export interface Prepared {
  checkpoint: Checkpoint
  digest: string
  workFolder: string
  spec(rest: Pick<EngineSpec, 'engine' | 'profile' | 'precision'> & Partial<EngineSpec>): EngineSpec
  remove(): void
}

export async function prepareForTest(folder: string, profiles: ProfileName[]): Promise<Prepared> {
  const checkpoint = openCheckpoint(folder)
  const workFolder = mkdtempSync(join(tmpdir(), 'laya-graphs-'))
  const digest = createHash('sha256').update(readFileSync(checkpoint.weightsPath)).digest('hex')
  await prepareGraphs({ checkpoint, workFolder, digest, runtime: '1.30.0', profiles })
  return {
    checkpoint,
    digest,
    workFolder,
    spec: (rest) => ({ checkpointFolder: folder, workFolder, ...rest }),
    remove: () => rmSync(workFolder, { recursive: true, force: true }),
  }
}
