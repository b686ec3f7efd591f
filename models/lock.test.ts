import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { acquireLock, findHolder, readStartTime } from './lock.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laya-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function plantClaim(pid: number, startedAt: string | null): void {
  writeFileSync(
    join(folder, `english~${pid}-00.lock`),
    JSON.stringify({ pid, startedAt, doing: 'installing' }),
  )
}

describe('acquireLock', () => {
  it('refuses a second holder, names what the first is doing, and leaves nothing behind', async () => {
    const lock = await acquireLock(folder, 'english', 'installing')
    await expect(acquireLock(folder, 'english', 'removing')).rejects.toMatchObject({
      code: 'checkpoint_locked',
      message: "'english' is busy: Laya Bar is installing it.",
    })
    await lock.release()
    await (await acquireLock(folder, 'english', 'removing')).release()
    expect(readdirSync(folder)).toEqual([])
  })

  it('keeps names apart, also when one begins with the other', async () => {
    const first = await acquireLock(folder, 'english', 'installing')
    const second = await acquireLock(folder, 'english-2', 'installing')
    await first.release()
    await second.release()
  })

  it('never lets two of many in at once', async () => {
    let inside = 0
    let most = 0
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        try {
          const lock = await acquireLock(folder, 'english', 'installing')
          most = Math.max(most, ++inside)
          await new Promise((resolve) => setTimeout(resolve, 5))
          inside--
          await lock.release()
        } catch (error) {
          expect(error).toMatchObject({ code: 'checkpoint_locked' })
        }
      }),
    )
    expect(most).toBeLessThanOrEqual(1)
    expect(readdirSync(folder)).toEqual([])
  })

  it('ignores the claim of a process that was killed', async () => {
    const child = spawn('sleep', ['60'])
    plantClaim(child.pid!, readStartTime(child.pid!))
    expect(await findHolder(folder, 'english')).toEqual({ pid: child.pid, doing: 'installing' })
    await expect(acquireLock(folder, 'english', 'installing')).rejects.toThrow(`pid ${child.pid}`)
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    expect(await findHolder(folder, 'english')).toBeNull()
    await (await acquireLock(folder, 'english', 'installing')).release()
  })

  it('ignores a claim whose pid was given to another process', async () => {
    plantClaim(process.pid, 'another boot:1')
    await (await acquireLock(folder, 'english', 'installing')).release()
  })

  it('reads a start time that is stable for one process and differs between two', () => {
    expect(readStartTime(process.pid)).toBe(readStartTime(process.pid))
    const child = spawn('sleep', ['60'])
    expect(readStartTime(child.pid!)).not.toBe(readStartTime(process.pid))
    child.kill('SIGKILL')
    expect(readStartTime(spawnSync('true').pid)).toBeNull()
  })
})
