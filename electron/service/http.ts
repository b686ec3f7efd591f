import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Problem } from '../contract.ts'
import type { Limits } from '../domain/limits.ts'
import type { Queue } from '../domain/queue.ts'
import type { Log } from './log.ts'
import type { Recents } from './recents.ts'
import type { Residency } from './residency.ts'
import type { Telemetry } from './telemetry.ts'

/** What the user decides about the server. Read at each request, so that a change applies at once. */
export interface Policy {
  /** Bearer token of the API; `null` = none is asked for. */
  token: string | null
  /** Exact origins of web pages that may call. */
  allowedOrigins: readonly string[]
  overflow: 'truncate' | 'reject'
  limits: Limits
  /** 0 = never. Reported by `/health`. */
  idleUnloadSeconds: number
}

export interface HttpParts {
  residency: Residency
  queue: Queue
  telemetry: Telemetry
  recents: Recents
  log: Log
  policy(): Policy
  version: string
  /** Nonce of this start: header `X-Laya-Instance` of `/livez`, the self-probe and `endpoint.json`. */
  instance: string
  /** Monotonic milliseconds. */
  now(): number
  /**
   * An inference exceeded its limit. Its caller has been answered 504 and the waiting ones 503; the process cannot
   * free itself and must be ended.
   */
  onHung(problem: Problem): void
  /**
   * Headless mode: answers `/`, `/assets/*` and `/panel/*` after the checks of Host, route and Origin; its token is
   * its own affair. `path` has no query.
   */
  panel?: (request: IncomingMessage, response: ServerResponse, path: string) => void
}

export interface HttpServer {
  /**
   * Opens 127.0.0.1 and ::1 on one port (0 = any free one). `bound`: the addresses that are open.
   * @throws LayaError `port_in_use` naming address, port and holder.
   */
  listen(port: number): Promise<{ port: number; bound: string[] }>
  /** Refuses new work, lets what runs finish (at most 2 s), answers the waiting ones 503, closes every socket. */
  close(): Promise<void>
}
