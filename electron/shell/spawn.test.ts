import { EventEmitter } from 'node:events'
import type { ForkOptions, UtilityProcess } from 'electron'
import { expect, test } from 'vitest'
import { createSpawner, serviceEnvironment } from './spawn.ts'

function setup() {
  const forks: {
    entry: string
    args: string[]
    options: ForkOptions
    child: ReturnType<typeof createChild>
  }[] = []
  const output: string[] = []
  const killed: unknown[] = []
  const spawner = createSpawner({
    fork(entry, args, options) {
      const child = createChild()
      forks.push({ entry, args, options, child })
      return child as unknown as UtilityProcess
    },
    entry: '/app/service.js',
    environment: () => ({ HOME: '/h' }),
    onOutput: (text) => output.push(text),
    kill: (pid, signal) => killed.push([pid, signal]),
  })
  return { spawner, forks, output, killed }
}

function createChild() {
  const posted: unknown[] = []
  return Object.assign(new EventEmitter(), {
    pid: undefined as number | undefined,
    stdout: new EventEmitter(),
    stderr: new EventEmitter(),
    posted,
    asked: 0,
    postMessage: (message: unknown) => posted.push(structuredClone(message)),
    kill() {
      this.asked++
      return true
    },
  })
}

test('a process has a name, pipes, no arguments and an environment of its own', () => {
  const { spawner, forks, output } = setup()
  spawner.spawn({ generation: 1 })
  const { entry, args, options, child } = forks[0]!
  expect({ entry, args }).toEqual({ entry: '/app/service.js', args: [] })
  expect(options).toEqual({
    serviceName: 'Laya Bar service',
    stdio: 'pipe',
    execArgv: [],
    env: { HOME: '/h' },
  })
  child.stdout.emit('data', Buffer.from('a'))
  child.stderr.emit('data', Buffer.from('é'))
  expect(output).toEqual(['a', 'é'])
})

test('the reason for the last end travels to the next process', () => {
  const { spawner, forks } = setup()
  spawner.spawn({ generation: 2, failure: { code: 'service_crashed', sentence: 'It ended.' } })
  expect(JSON.parse(String(Object(forks[0]!.options.env).LAYA_BAR_FAILURE))).toEqual({
    code: 'service_crashed',
    sentence: 'It ended.',
  })
})

test('the handle is gone before the exit is told', () => {
  const { spawner, forks } = setup()
  const child = spawner.spawn({ generation: 1 })
  forks[0]!.child.pid = 77
  expect([spawner.alive(), spawner.pid(), child.pid]).toEqual([true, 77, 77])
  const told: unknown[] = []
  child.onExit((how) => told.push(how, spawner.alive(), spawner.pid()))
  forks[0]!.child.emit('exit', 9)
  forks[0]!.child.emit('exit', 9)
  expect(told).toEqual(['code 9', false, undefined])
})

test("Electron's reason is used when it came in time, and not for the next process", () => {
  const { spawner, forks } = setup()
  const told: string[] = []
  spawner.spawn({ generation: 1 }).onExit((how) => told.push(how))
  spawner.noteGone('crashed')
  forks[0]!.child.emit('exit', 5)
  spawner.spawn({ generation: 2 }).onExit((how) => told.push(how))
  forks[1]!.child.emit('exit', 0)
  expect(told).toEqual(['crashed', 'code 0'])
})

test('a late exit of an old process does not hide the new one', () => {
  const { spawner, forks } = setup()
  spawner.spawn({ generation: 1 }).onExit(() => {})
  spawner.spawn({ generation: 2 }).onExit(() => {})
  forks[0]!.child.emit('exit', 0)
  expect(spawner.alive()).toBe(true)
})

test('killing is final once there is a pid, and a dropped launch before', () => {
  const { spawner, forks, killed } = setup()
  const child = spawner.spawn({ generation: 1 })
  child.kill('SIGKILL')
  expect([forks[0]!.child.asked, killed]).toEqual([1, []])
  forks[0]!.child.pid = 77
  child.kill('SIGTERM')
  child.kill('SIGKILL')
  expect([forks[0]!.child.asked, killed]).toEqual([2, [[77, 'SIGKILL']]])
})

test('messages go both ways', () => {
  const { spawner, forks } = setup()
  const child = spawner.spawn({ generation: 1 })
  const heard: unknown[] = []
  child.onMessage((message) => heard.push(message))
  child.post({ kind: 'stop' })
  forks[0]!.child.emit('message', { kind: 'asked', command: 'stop' })
  expect(forks[0]!.child.posted).toEqual([{ kind: 'stop' }])
  expect(heard).toEqual([{ kind: 'asked', command: 'stop' }])
})

test('nothing that steers Node, Electron or the loader reaches the service', () => {
  const env = {
    HOME: '/h',
    PATH: '/bin',
    LC_ALL: 'C',
    HF_HOME: '/hf',
    NODE_OPTIONS: '--inspect',
    ELECTRON_RUN_AS_NODE: '1',
    DYLD_INSERT_LIBRARIES: '/evil.dylib',
    LD_PRELOAD: '/evil.so',
    AWS_SECRET_ACCESS_KEY: 'x',
    HF_TOKEN: 'x',
    TZ: undefined,
  }
  expect(serviceEnvironment(env, { LAYA_BAR_HOME: '/data', TMPDIR: '/data/tmp' })).toEqual({
    HOME: '/h',
    PATH: '/bin',
    LC_ALL: 'C',
    HF_HOME: '/hf',
    LAYA_BAR_HOME: '/data',
    TMPDIR: '/data/tmp',
  })
})
