import { describe, expect, test } from 'vitest'
import type { Phase } from '../contract.ts'
import { next, type PhaseEvent, serves } from './phase.ts'

function walk(from: Phase, ...events: PhaseEvent[]): Phase[] {
  const path = [from]
  for (const event of events) path.push(next(path.at(-1)!, event))
  return path
}

const PHASES: Phase[] = [
  'stopped',
  'starting',
  'loading',
  'warming',
  'ready',
  'switching',
  'unloaded',
  'draining',
  'stopping',
  'failed',
]

describe('next', () => {
  test('a whole life', () => {
    expect(walk('stopped', 'start', 'listening', 'loaded', 'ready', 'drain', 'stop', 'exit')).toEqual([
      'stopped',
      'starting',
      'loading',
      'warming',
      'ready',
      'draining',
      'stopping',
      'stopped',
    ])
  })

  test('a switch keeps serving and comes back to ready, whether it succeeded or not', () => {
    const path = walk('ready', 'switch', 'switched')
    expect(path).toEqual(['ready', 'switching', 'ready'])
    expect(path.every(serves)).toBe(true)
  })

  test('unloaded is not ready; a load leads back through warm-up', () => {
    const path = walk('ready', 'unload', 'load', 'loaded', 'ready')
    expect(path).toEqual(['ready', 'unloaded', 'loading', 'warming', 'ready'])
    expect(serves('unloaded')).toBe(false)
  })

  test('a sleeping machine has to prove itself again before it serves', () => {
    expect(walk('ready', 'suspend', 'ready')).toEqual(['ready', 'warming', 'ready'])
  })

  test.each(PHASES)('%s can fail', (phase) => {
    expect(next(phase, 'fail')).toBe('failed')
  })

  test('failed holds its reason through the exit of the process, until Start or another checkpoint', () => {
    expect(walk('failed', 'exit', 'ready', 'loaded', 'switched')).toEqual(Array(5).fill('failed'))
    expect(next('failed', 'start')).toBe('starting')
    expect(next('failed', 'load')).toBe('loading')
  })

  test('late events change nothing', () => {
    expect(next('stopped', 'ready')).toBe('stopped')
    expect(next('stopping', 'ready')).toBe('stopping')
    expect(next('draining', 'switch')).toBe('draining')
    expect(next('loading', 'ready')).toBe('loading')
  })
})
