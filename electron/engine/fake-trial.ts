import { createFakeEngine } from './fake.ts'
import { createTrialPort, serveTrial } from './trial-host.ts'

// Entry of the double in a throw-away process. Faults come in the environment.
serveTrial(createTrialPort(), async (spec) =>
  createFakeEngine(spec, JSON.parse(process.env.LAYA_FAULTS ?? '{}')),
)
