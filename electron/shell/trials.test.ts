import { EventEmitter } from 'node:events'
import type { UtilityProcess } from 'electron'
import { expect, test } from 'vitest'
import { createTrials } from './trials.ts'

function setup() {
  const forks: ReturnType<typeof createProcess>[] = []
  const told: unknown[] = []
  const killed: number[] = []
  const trials = createTrials({
    fork: () => {
      forks.push(createProcess())
      return forks.at(-1) as unknown as UtilityProcess
    },
    entry: '/app/trial.js',
    environment: () => ({ HOME: '/h' }),
    post: (message) => told.push(message),
    kill: (pid) => killed.push(pid),
  })
  return { trials, forks, told, killed }
}

function createProcess() {
  const heard: unknown[] = []
  return Object.assign(new EventEmitter(), {
    pid: 40 as number | undefined,
    dropped: 0,
    stdout: { resume: () => {} },
    stderr: new EventEmitter(),
    heard,
    postMessage: (message: unknown) => heard.push(message),
    kill() {
      this.dropped++
      return true
    },
  })
}

const fork = { kind: 'fork' } as const

test('messages, error output and the end are passed on', () => {
  const { trials, forks, told } = setup()
  trials.hear({ kind: 'trial', id: 3, ask: fork })
  trials.hear({ kind: 'trial', id: 3, ask: { kind: 'send', message: { kind: 'plan' } } })
  const [one] = forks
  expect(one!.heard).toEqual([{ kind: 'plan' }])
  one!.emit('message', { kind: 'done' })
  one!.stderr.emit('data', Buffer.from('partitions: 1'))
  one!.emit('exit', 11)
  expect(told).toEqual([
    { kind: 'trial', id: 3, did: { kind: 'message', message: { kind: 'done' } } },
    { kind: 'trial', id: 3, did: { kind: 'stderr', text: 'partitions: 1' } },
    { kind: 'trial', id: 3, did: { kind: 'exit', code: 11 } },
  ])
})

test('a killed trial says nothing any more', () => {
  const { trials, forks, told, killed } = setup()
  trials.hear({ kind: 'trial', id: 1, ask: fork })
  trials.hear({ kind: 'trial', id: 1, ask: { kind: 'kill' } })
  forks[0]!.emit('message', { kind: 'done' })
  forks[0]!.emit('exit', 0)
  expect([killed, told]).toEqual([[40], []])
})

test('trials of a dead service end with it; the same id of the next service is another trial', () => {
  const { trials, forks, told, killed } = setup()
  trials.hear({ kind: 'trial', id: 1, ask: fork })
  trials.hear({ kind: 'trial', id: 2, ask: fork })
  forks[1]!.pid = undefined
  trials.endAll()
  expect([killed, forks[1]!.dropped]).toEqual([[40], 1])
  trials.hear({ kind: 'trial', id: 1, ask: fork })
  forks[0]!.emit('exit', 0)
  expect(told).toEqual([])
  forks[2]!.emit('message', 'x')
  expect(told).toHaveLength(1)
})

test('asks for a trial that is gone are dropped', () => {
  const { trials, told } = setup()
  trials.hear({ kind: 'trial', id: 9, ask: { kind: 'send', message: 1 } })
  trials.hear({ kind: 'trial', id: 9, ask: { kind: 'kill' } })
  expect(told).toEqual([])
})
