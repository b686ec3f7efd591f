import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { createQuit, watchProcesses } from './quit.ts'

function setup() {
  const steps: string[] = []
  let stopped = () => {}
  const quit = createQuit({
    stop: () => {
      steps.push('stop')
      return new Promise<void>((resolve) => {
        stopped = resolve
      })
    },
    close: () => steps.push('close'),
    exit: () => steps.push('exit'),
    watch: () => steps.push('watch'),
  })
  const event = () => {
    const seen = { prevented: false, preventDefault: () => (seen.prevented = true) }
    quit.beforeQuit(seen)
    return seen.prevented
  }
  const settle = async () => {
    stopped()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { quit, steps, event, settle }
}

describe('quit', () => {
  test('limit armed, service stopped, windows closed, left: once, however often it is asked', async () => {
    const { quit, steps, event, settle } = setup()
    quit.request()
    quit.request()
    expect(event()).toBe(true)
    expect(steps).toEqual(['watch', 'stop'])
    expect(quit.quitting()).toBe(true)
    await settle()
    expect(steps).toEqual(['watch', 'stop', 'close', 'exit'])
    expect(event()).toBe(false)
  })

  test('an end begun by the system waits for the service the same way', async () => {
    const { steps, event, settle } = setup()
    expect(event()).toBe(true)
    expect(event()).toBe(true)
    await settle()
    expect(steps).toEqual(['watch', 'stop', 'close', 'exit'])
  })

  test('a shutdown is never held up', () => {
    const { quit, steps, event } = setup()
    quit.shutdown()
    expect(event()).toBe(false)
    expect(steps).toEqual(['stop', 'close'])
  })

  test('a shutdown in the middle of a quit lets go', () => {
    const { quit, event } = setup()
    quit.request()
    quit.shutdown()
    expect(event()).toBe(false)
  })
})

describe('the hard limit', () => {
  const hanging = (): ChildProcess => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])

  test('ends a process that does not end by itself', async () => {
    const child = hanging()
    watchProcesses([child.pid!], 30)
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
  })

  test('works while the main thread hangs, on the hanging process itself', async () => {
    const script = `
      import { watchProcesses } from ${JSON.stringify(new URL('./quit.ts', import.meta.url).href)}
      watchProcesses([process.pid], 200)
      setTimeout(() => { for (;;); }, 50)`
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script])
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')
  })

  test('can be called off', async () => {
    const child = hanging()
    watchProcesses([child.pid!], 60)()
    await new Promise((resolve) => setTimeout(resolve, 150))
    expect(child.exitCode ?? child.signalCode).toBeNull()
    child.kill('SIGKILL')
  })
})
