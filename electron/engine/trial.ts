import { openEngine, readPlan } from './open.ts'
import { createTrialPort, serveTrial } from './trial-host.ts'

// Entry of the throw-away process.
serveTrial(createTrialPort(), { openEngine, readPlan })
