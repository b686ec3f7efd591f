import { describe, expect, it } from 'vitest'
import { LayaError } from '../../models/errors.ts'
import { createRandom } from '../../models/random.ts'
import { Cancelled, createQueue, type Ticket } from './queue.ts'

function setUp(capacity = 2, waitMs = 30_000) {
  let time = 0
  const timers = new Set<{ at: number; callback: () => void }>()
  const depths: number[] = []
  const queue = createQueue({
    capacity: () => capacity,
    waitMs,
    now: () => time,
    setTimer(callback, ms) {
      const timer = { at: time + ms, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    onDepth: (depth) => depths.push(depth),
  })
  return {
    queue,
    depths,
    timers,
    pass(ms: number) {
      time += ms
      for (const timer of timers) {
        if (timer.at > time) continue
        timers.delete(timer)
        timer.callback()
      }
    },
  }
}

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  const error = await promise.then(
    () => undefined,
    (thrown) => thrown,
  )
  return error instanceof LayaError ? error.code : error?.constructor.name
}

/** Which of the tickets have their turn, after all that is due has happened. */
async function turns(tickets: Ticket[]): Promise<boolean[]> {
  const begun = tickets.map(() => false)
  tickets.forEach((ticket, index) => {
    ticket.turn.then(
      () => {
        begun[index] = true
      },
      () => {},
    )
  })
  await new Promise((resolve) => setImmediate(resolve))
  return begun
}

describe('order', () => {
  it('one at a time, first in, first out', async () => {
    const { queue, depths } = setUp(2)
    const tickets = [queue.admit('single'), queue.admit('single'), queue.admit('single')]
    expect(await turns(tickets)).toEqual([true, false, false])
    tickets[0]!.release()
    expect(await turns(tickets)).toEqual([true, true, false])
    tickets[1]!.release()
    expect(await turns(tickets)).toEqual([true, true, true])
    expect(queue.inFlight).toBe(1)
    tickets[2]!.release()
    expect(queue.inFlight).toBe(0)
    expect(depths).toEqual([1, 2, 1, 0])
  })

  it('a batch lets one single request through between its passes, never a batch and never two', async () => {
    const { queue } = setUp(5)
    const batch = queue.admit('batch')
    const [otherBatch, first, second] = [queue.admit('batch'), queue.admit('single'), queue.admit('single')]
    let resumed = false
    const paused = batch.pause().then(() => {
      resumed = true
    })
    expect(await turns([otherBatch, first, second])).toEqual([false, true, false])
    expect(resumed).toBe(false)
    first.release()
    await paused
    expect(await turns([otherBatch, second])).toEqual([false, false])
    batch.release()
    expect(await turns([otherBatch, second])).toEqual([true, false])
  })

  it('a batch goes on at once when no single request waits', async () => {
    const { queue } = setUp()
    const batch = queue.admit('batch')
    queue.admit('batch')
    await batch.pause()
    expect(queue.depth).toBe(1)
  })
})

describe('refusal', () => {
  it('full: says how many wait and when to come back', () => {
    const { queue, pass } = setUp(2)
    const first = queue.admit('single')
    queue.admit('single')
    pass(1700)
    first.release()
    queue.admit('single')
    queue.admit('single')
    for (const refused of [() => queue.admit('single'), () => queue.check()]) {
      expect(refused).toThrow('2 requests are waiting; try again in 4 s')
      try {
        refused()
      } catch (error) {
        expect((error as LayaError).details).toEqual({
          retryAfter: 4,
          extras: { queue_depth: 2, queue_capacity: 2 },
        })
      }
    }
  })

  it('capacity 0: one runs, none waits', () => {
    const { queue } = setUp(0)
    const only = queue.admit('single')
    expect(() => queue.admit('single')).toThrow('none may wait')
    only.release()
    queue.admit('single')
  })

  it('waiting too long', async () => {
    const { queue, pass, timers } = setUp(2, 30_000)
    const first = queue.admit('single')
    const late = queue.admit('single')
    pass(29_999)
    expect(queue.depth).toBe(1)
    pass(1)
    expect(await codeOf(late.turn)).toBe('overloaded')
    expect(queue.depth).toBe(0)
    first.release()
    expect(queue.inFlight).toBe(0)
    expect(timers.size).toBe(0)
  })

  it('Retry-After stays between 1 and 30 seconds', () => {
    const { queue, pass } = setUp(100)
    expect(queue.retryAfter()).toBe(1)
    const first = queue.admit('single')
    pass(5000)
    first.release()
    for (let i = 0; i < 100; i++) queue.admit('single')
    expect(queue.retryAfter()).toBe(30)
  })
})

describe('leaving', () => {
  it('frees the place at once', async () => {
    const { queue, timers } = setUp(1)
    queue.admit('single')
    const gone = queue.admit('single')
    gone.cancel()
    expect(queue.depth).toBe(0)
    expect(await codeOf(gone.turn)).toBe(Cancelled.name)
    expect(timers.size).toBe(0)
    expect(() => queue.admit('single')).not.toThrow()
  })

  it('does not end a turn that has begun', () => {
    const { queue } = setUp(1)
    const running = queue.admit('single')
    running.cancel()
    expect(queue.inFlight).toBe(1)
  })
})

describe('drain', () => {
  it('turns the waiting ones away, admits nothing, and lets the running one finish', async () => {
    const { queue, timers } = setUp(3)
    const running = queue.admit('single')
    const waiting = [queue.admit('single'), queue.admit('batch')]
    queue.drain('stopping')
    expect(await Promise.all(waiting.map(({ turn }) => codeOf(turn)))).toEqual(['not_ready', 'not_ready'])
    expect(() => queue.admit('single')).toThrow('stopping')
    expect(() => queue.check()).toThrow('stopping')
    let idle = false
    const rest = queue.idle().then(() => {
      idle = true
    })
    await turns([])
    expect(idle).toBe(false)
    running.release()
    await rest
    expect(timers.size).toBe(0)
  })

  it('ends a batch between its passes', async () => {
    const { queue } = setUp()
    const batch = queue.admit('batch')
    queue.drain('stopping')
    expect(await codeOf(batch.pause())).toBe('not_ready')
  })
})

it('never has two turns and loses no ticket, whatever happens (seeded)', async () => {
  const { next: random } = createRandom(5)
  for (let round = 0; round < 200; round++) {
    const { queue, pass } = setUp(4, 1000)
    let running = 0
    let settled = 0
    let admitted = 0
    for (let step = 0; step < 60; step++) {
      if (random() < 0.6) {
        try {
          const ticket = queue.admit(random() < 0.3 ? 'batch' : 'single')
          admitted++
          ticket.turn.then(
            () => {
              running++
              expect(running).toBe(1)
              setImmediate(() => {
                running--
                settled++
                ticket.release()
              })
            },
            () => settled++,
          )
          if (random() < 0.2) setImmediate(() => ticket.cancel())
        } catch (error) {
          expect((error as LayaError).code).toBe('overloaded')
        }
      }
      pass(Math.floor(random() * 300))
      if (random() < 0.7) await new Promise((resolve) => setImmediate(resolve))
    }
    await queue.idle()
    expect(settled).toBe(admitted)
    expect(queue.depth).toBe(0)
  }
})
