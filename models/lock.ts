import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { LayaError } from './errors.ts'

export interface Lock {
  release(): Promise<void>
}

interface Holder {
  pid: number
  /** What the system calls the start of that process: a pid alone is given out again. */
  startedAt: string | null
  doing: string
}

/**
 * When the process `pid` began, as an opaque string: boot id and ticks on Linux, `ps` elsewhere.
 * Null when there is no such process or the system does not say.
 */
export function readStartTime(pid: number): string | null {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The second field is the program's name in parentheses and may itself hold blanks and parentheses.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (fields[0] === 'Z') return null
      return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
    }
    const output = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return output.trim() || null
  } catch {
    return null
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0)
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  return holder.startedAt === null || readStartTime(holder.pid) === holder.startedAt
}

/**
 * The processes that hold or are asking for `name`, dead ones removed. Every claim is a file of its own that is
 * never reused, so removing one that belongs to a dead process cannot remove somebody else's.
 */
async function readClaims(folder: string, name: string): Promise<{ file: string; holder: Holder }[]> {
  const claims: { file: string; holder: Holder }[] = []
  const prefix = `${name}~`
  for (const file of await readdir(folder)) {
    if (!file.startsWith(prefix) || !file.endsWith('.lock')) continue
    const path = join(folder, file)
    try {
      const holder = JSON.parse(await readFile(path, 'utf8')) as Holder
      if (isAlive(holder)) claims.push({ file, holder })
      else await rm(path, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      if (!(error instanceof SyntaxError)) throw error
      await rm(path, { force: true })
    }
  }
  return claims
}

/** What another process (or another job of this one) is doing with `name`, or null. */
export async function findHolder(
  folder: string,
  name: string,
): Promise<{ pid: number; doing: string } | null> {
  try {
    const [first] = await readClaims(folder, name)
    return first ? { pid: first.holder.pid, doing: first.holder.doing } : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * Takes the lock `name` for this process, across processes. It survives `kill -9`: the claim of a process that is
 * gone counts for nothing. Announce first, look second: of two that ask at once at most one goes on.
 * `doing` completes "another process is …".
 *
 * @throws LayaError `checkpoint_locked` when somebody else holds it.
 */
export async function acquireLock(folder: string, name: string, doing: string): Promise<Lock> {
  await mkdir(folder, { recursive: true })
  const self: Holder = { pid: process.pid, startedAt: readStartTime(process.pid), doing }
  for (let attempt = 0; ; attempt++) {
    const nonce = randomBytes(8).toString('hex')
    const own = `${name}~${process.pid}-${nonce}.lock`
    const claim = join(folder, own)
    const draft = join(folder, `${nonce}.draft`)
    // A claim appears whole or not at all: an empty one would look dead.
    await writeFile(draft, JSON.stringify(self))
    await link(draft, claim)
    await rm(draft)
    const others = (await readClaims(folder, name)).filter(({ file }) => file !== own)
    const first = others[0]
    if (!first) return { release: () => rm(claim, { force: true }) }
    await rm(claim, { force: true })
    if (attempt >= 4) {
      const who = first.holder.pid === process.pid ? 'Laya Bar' : `another process (pid ${first.holder.pid})`
      throw new LayaError('checkpoint_locked', `'${name}' is busy: ${who} is ${first.holder.doing} it.`, {
        hint: 'Wait until it has finished, or stop it, and try again.',
      })
    }
    // Two that announced together both step back; a random pause lets one of them in.
    await delay(20 + Math.random() * 60)
  }
}
