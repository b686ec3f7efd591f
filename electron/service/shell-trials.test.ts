import { expect, test } from 'vitest'
import type { FromService } from '../contract.ts'
import { runTrial } from '../engine/trials.ts'
import { createShellTrials } from './shell-trials.ts'

function setup() {
  const posted: Extract<FromService, { kind: 'trial' }>[] = []
  const trials = createShellTrials((message) => {
    if (message.kind === 'trial') posted.push(structuredClone(message))
  })
  return { trials, posted }
}

const request = { kind: 'plan', bundle: '/x', units: 'CPUAndGPU' } as const

test('a plan is asked for and answered through the shell, and the process ended', async () => {
  const { trials, posted } = setup()
  const running = runTrial(request, trials.start)
  expect(posted.map(({ ask }) => ask)).toEqual([{ kind: 'fork' }, { kind: 'send', message: request }])
  const plan = { devices: [], cpuOperators: ['gather'] }
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'message', message: { kind: 'planned', plan } } })
  expect(await running).toEqual({ kind: 'planned', plan })
  expect(posted.at(-1)!.ask).toEqual({ kind: 'kill' })
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'exit', code: 0 } })
})

test('a crash is an outcome, with the last words of the process', async () => {
  const { trials, posted } = setup()
  const running = runTrial(request, trials.start)
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'stderr', text: 'abort: ' } })
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'stderr', text: 'bad bundle' } })
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'exit', code: 6 } })
  expect(await running).toMatchObject({ how: 'crashed', stderr: 'abort: bad bundle' })
  // Gone already: nothing is left to be killed.
  expect(posted.filter(({ ask }) => ask.kind === 'kill')).toEqual([])
})

test('two trials do not hear each other', async () => {
  const { trials, posted } = setup()
  const first = runTrial(request, trials.start)
  const second = runTrial(request, trials.start)
  expect(posted.map(({ id }) => id)).toEqual([1, 1, 2, 2])
  trials.hear({ kind: 'trial', id: 2, did: { kind: 'exit', code: 1 } })
  const plan = { devices: [], cpuOperators: [] }
  trials.hear({ kind: 'trial', id: 1, did: { kind: 'message', message: { kind: 'planned', plan } } })
  expect([(await first).kind, (await second).kind]).toEqual(['planned', 'failed'])
})
