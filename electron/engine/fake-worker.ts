import { parentPort, workerData } from 'node:worker_threads'
import { fakeMakers } from './fake.ts'
import { serveThread } from './serve.ts'

// Entry of the double on a real thread: `createEngineThread({ workerUrl, workerData: faults })`.
serveThread(parentPort!, fakeMakers(workerData ?? {}))
