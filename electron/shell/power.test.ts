import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { createPower } from './power.ts'
import { sampleCheckpoint, sampleSnapshot } from './sample.ts'

function setup() {
  const monitor = Object.assign(new EventEmitter(), {
    battery: false,
    getCurrentThermalState: () => 'nominal' as const,
    isOnBatteryPower() {
      return this.battery
    },
  })
  const posted: unknown[] = []
  const held: string[] = []
  const seen = { changes: 0, shutdowns: 0 }
  const power = createPower({
    monitor: monitor as never,
    post: (report) => posted.push(report),
    onChange: () => seen.changes++,
    onShutdown: () => seen.shutdowns++,
    blocker: {
      start: () => held.push('start'),
      stop: (id) => {
        held.push(`stop ${id}`)
        return true
      },
    },
  })
  return { monitor, posted, held, seen, power }
}

test('sleep and wake are told once each, however often the system says so', () => {
  const { monitor, posted } = setup()
  monitor.emit('suspend')
  monitor.emit('suspend')
  monitor.battery = true
  monitor.emit('resume')
  monitor.emit('resume')
  monitor.emit('suspend')
  expect(posted).toEqual([
    { kind: 'power', thermal: 'nominal', onBattery: false, event: 'suspend' },
    { kind: 'power', thermal: 'nominal', onBattery: true, event: 'resume' },
    { kind: 'power', thermal: 'nominal', onBattery: true, event: 'suspend' },
  ])
})

test('heat and battery are told when they change', () => {
  const { monitor, posted, power, seen } = setup()
  monitor.emit('thermal-state-change', { state: 'serious' })
  monitor.emit('thermal-state-change', { state: 'serious' })
  monitor.emit('on-ac')
  monitor.emit('on-battery')
  monitor.emit('thermal-state-change', { state: 'molten' })
  expect(posted).toEqual([
    { kind: 'power', thermal: 'serious', onBattery: false },
    { kind: 'power', thermal: 'serious', onBattery: true },
    { kind: 'power', thermal: 'unknown', onBattery: true },
  ])
  expect([power.thermal(), power.onBattery(), seen.changes]).toEqual(['unknown', true, 3])
  expect(power.report()).toEqual(posted.at(-1))
})

test('the system stays awake exactly while a benchmark or a download runs', () => {
  const { power, held } = setup()
  const downloading = sampleSnapshot({ checkpoints: [sampleCheckpoint({ state: 'downloading' })] })
  const measuring = sampleSnapshot({ benchmark: { state: 'running', step: 'x', percent: 1 } })
  power.holdFor(sampleSnapshot())
  power.holdFor(downloading)
  power.holdFor(measuring)
  power.holdFor(sampleSnapshot())
  power.holdFor(sampleSnapshot({ benchmark: { state: 'done', step: 'x', percent: 100 } }))
  power.holdFor(measuring)
  power.release()
  power.release()
  expect(held).toEqual(['start', 'stop 1', 'start', 'stop 3'])
})

test('a shutdown of the system is passed on', () => {
  const { monitor, seen } = setup()
  monitor.emit('shutdown')
  expect(seen.shutdowns).toBe(1)
})
