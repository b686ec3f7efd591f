import { createFakeEngine, type Faults, withFaults } from './fake.ts'
import { openEngine, readPlan } from './open.ts'
import { createTrialPort, serveTrial } from './trial-host.ts'

// Entry of the tests' throw-away process: the double, or the real network with faults on top. Faults come in the
// environment and hold for one engine ("coreml"), so that the reference beside it stays whole.
const {
  real = false,
  only,
  ...faults
} = JSON.parse(process.env.LAYA_FAULTS ?? '{}') as Faults & {
  real?: boolean
  only?: string
}
serveTrial(createTrialPort(), {
  async openEngine(spec, onProgress) {
    const active = only === undefined || only === `${spec.engine}/${spec.profile}` ? faults : {}
    if (!real) return createFakeEngine(spec, active)
    return withFaults(await openEngine(spec, onProgress), active)
  },
  readPlan,
})
