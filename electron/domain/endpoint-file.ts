import { z } from 'zod'

/** `endpoint.json` in the data folder: how other programs find the running service. Removed when it stops. */
export const ENDPOINT_FILE = 'endpoint.json'

const schema = z.object({
  url: z.string(),
  port: z.number(),
  pid: z.number().int().positive(),
  /** Epoch ms at which the process began: a pid alone may belong to somebody else by now. */
  startedAt: z.number(),
  /** `/health` of this very process repeats it. */
  nonce: z.string(),
  version: z.string(),
})
export type EndpointFile = z.infer<typeof schema>

/** `null` for anything that is not a whole endpoint file: readers must live with a file cut short. */
export function parseEndpointFile(text: string): EndpointFile | null {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return null
  }
}

export interface ProcessFacts {
  startedAt: number
  /** 1 when the process that started it is gone: it was handed to the system. */
  parent: number
}

/** The system tells start times in whole seconds, and a process measures its own a moment after it began. */
const TOLERANCE_MS = 2500

/**
 * What to do at start about the process an endpoint file names.
 *
 * - `stale`: it is gone, or its pid belongs to another process now: the file can be removed
 * - `orphan`: it is still ours although nobody looks after it any more: it should be ended
 * - `other`: a service that somebody runs in the same data folder (headless, most likely): it is left alone
 */
export function judgeLeftover(file: EndpointFile, found: ProcessFacts | null): 'stale' | 'orphan' | 'other' {
  if (found === null || Math.abs(found.startedAt - file.startedAt) > TOLERANCE_MS) return 'stale'
  return found.parent === 1 ? 'orphan' : 'other'
}
