import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  ENDPOINT_FILE,
  type EndpointFile,
  judgeLeftover,
  type ProcessFacts,
  parseEndpointFile,
} from '../domain/endpoint-file.ts'
import {
  formatSettings,
  type ParsedSettings,
  parseSettings,
  type StoredSettings,
} from '../domain/settings.ts'

/** Everything the shell reads or writes. */
export interface Files {
  data: string
  /** Chromium's own profile, apart from what users may look at. */
  profile: string
  logs: string
  crashes: string
  /** Core ML and compile folders of the service; emptied before each start. */
  temporary: string
  settings: string
  endpoint: string
  reports: string
  checkpoints: string
  docs: string
}

/**
 * @param data the data folder (`models/data-folder.ts`).
 * @param logs `~/Library/Logs/Laya Bar`.
 * @param resources of the app: where documents lie that were packed with it.
 */
export function listFiles(data: string, logs: string, resources: string): Files {
  return {
    data,
    profile: join(data, 'shell'),
    logs,
    crashes: join(data, 'crashes'),
    temporary: join(data, 'tmp'),
    settings: join(data, 'settings.json'),
    endpoint: join(data, ENDPOINT_FILE),
    reports: join(data, 'reports'),
    checkpoints: join(data, 'checkpoints'),
    docs: join(resources, 'docs'),
  }
}

/** What the settings file says, and what of it could not be used. */
export function readSettings(file: string): ParsedSettings {
  return parseSettings(readText(file))
}

/** Whole or not at all, for the user alone: the file may hold the token. */
export function writeSettings(file: string, settings: StoredSettings): void {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.draft`
  writeFileSync(draft, formatSettings(settings), { mode: 0o600, flush: true })
  renameSync(draft, file)
}

/** Empties a folder of ours, so that a killed compiler leaves nothing behind for good. */
export function emptyFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
}

export interface Leftover {
  verdict: 'none' | 'stale' | 'orphan' | 'other'
  file: EndpointFile | null
}

/**
 * Looks for a service that an earlier run left behind. An orphan is ended by `end`, a stale file removed; a service
 * of somebody else is left alone and named.
 */
export async function clearLeftover(
  file: string,
  inspect: (pid: number) => Promise<ProcessFacts | null> = inspectProcess,
  end: (pid: number) => void = (pid) => process.kill(pid, 'SIGKILL'),
): Promise<Leftover> {
  const text = readText(file)
  if (text === null) return { verdict: 'none', file: null }
  const named = parseEndpointFile(text)
  const verdict = named === null ? 'stale' : judgeLeftover(named, await inspect(named.pid))
  if (verdict === 'orphan') end(named!.pid)
  if (verdict !== 'other') rmSync(file, { force: true })
  return { verdict, file: named }
}

/** Start time and parent of a process, `null` when there is none. `ps` speaks the same on macOS and Linux. */
export async function inspectProcess(pid: number): Promise<ProcessFacts | null> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=,lstart=', '-p', String(pid)], {
      env: { ...process.env, LC_ALL: 'C' },
    })
    const [, parent, start] = /^\s*(\d+)\s+(.+?)\s*$/.exec(stdout) ?? []
    const startedAt = Date.parse(start ?? '')
    return Number.isNaN(startedAt) ? null : { parent: Number(parent), startedAt }
  } catch {
    // ps ends with 1 when no process has this pid.
    return null
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
