import { createRequire } from 'node:module'
import { WEIGHTS_FILE } from '../../models/catalog.ts'
import { openCheckpoint } from '../../models/checkpoint.ts'
import { listProfiles, type ProfileName } from '../../models/graph/profile.ts'
import type { Installed } from '../../models/installed.ts'
import { prepareGraphs } from '../../models/prepare.ts'
import type { EngineName } from '../contract.ts'
import { listCandidates } from './candidates.ts'
import { readMachine } from './machine.ts'

/** What the graphs of a checkpoint are written for. A plain value: it crosses thread borders. */
export interface Preparation {
  profiles: ProfileName[]
  /** Version of onnxruntime-node. */
  runtime: string
}

/** Version of the installed onnxruntime-node, without loading it. */
export function readRuntimeVersion(): string {
  const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string }
  return version
}

/** What this machine's engines need, the one asked for or all that can be tried. */
export async function choosePreparation(requested: 'auto' | EngineName): Promise<Preparation> {
  const choice = { native: true, neuralEngine: false, requested, profiles: listProfiles() }
  const { candidates } = listCandidates(await readMachine(), choice)
  // The parity gate compares every engine with float32 on the CPU.
  const profiles = new Set<ProfileName>(['cpu-fp32', ...candidates.map(({ profile }) => profile)])
  return { profiles: [...profiles], runtime: readRuntimeVersion() }
}

/**
 * Writes the graphs and side files of an installed checkpoint, those that are missing or out of date.
 * @returns names of the files that were written.
 * @throws LayaError `disk_full`, `storage_failed`, `checkpoint_unusable`; the signal's reason when aborted.
 */
export async function prepareInstalled(
  installed: Installed,
  { profiles, runtime }: Preparation,
  options: { signal?: AbortSignal; onProgress?: (done: number, total: number) => void } = {},
): Promise<string[]> {
  const digest = installed.manifest.files.find(({ path }) => path === WEIGHTS_FILE)!.sha256
  const checkpoint = openCheckpoint(installed.folder)
  return prepareGraphs({
    checkpoint,
    workFolder: installed.workFolder,
    digest,
    runtime,
    profiles,
    ...options,
  })
}
