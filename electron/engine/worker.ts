import { parentPort } from 'node:worker_threads'
import { openEncoder } from './encoder.ts'
import { openEngine } from './open.ts'
import { serveThread } from './serve.ts'

// Entry of the engine's thread: the only place of the service that loads onnxruntime.
serveThread(parentPort!, { openEngine, openEncoder })
