import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname } from 'node:path'
import type { LogLine } from '../contract.ts'

export type LogLevel = LogLine['level']
export type LogFields = Record<string, string | number | boolean | null | undefined>

/** JSON lines for programs, a tail of sentences for the panel. Never a state, an instruction, a label or a token. */
export interface Log {
  debug(text: string, fields?: LogFields): void
  info(text: string, fields?: LogFields): void
  warn(text: string, fields?: LogFields): void
  error(text: string, fields?: LogFields): void
  setLevel(level: LogLevel): void
  /** The last lines, oldest first. */
  tail(): LogLine[]
  /** Writes what is still held back; called before the process ends. */
  flush(): void
  close(): void
}

interface LogOptions {
  /** `null`: no file, only the tail. */
  file: string | null
  level: LogLevel
  now: () => number
  /** Also gets each line, for a terminal. */
  echo?: (line: string) => void
  maxBytes?: number
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
const TAIL = 200
const FILES = 3
const HOLD_MS = 100
/** Members that could carry what must not be written, whoever passes them. */
const SECRET = /token|authori[sz]ation|secret|password|cookie|body|state|instructions|criteria/i

/** `file`, `file.1`, `file.2`: a megabyte each. A log that cannot be written never stops the service. */
export function createLog({ file, level, now, echo, maxBytes = 1_048_576 }: LogOptions): Log {
  let least = LEVELS.indexOf(level)
  let tail: LogLine[] = []
  let held: string[] = []
  let timer: NodeJS.Timeout | null = null
  let fd: number | null = null
  let size = 0
  let broken = false
  if (file !== null) open()

  return {
    debug: (text, fields) => write('debug', text, fields),
    info: (text, fields) => write('info', text, fields),
    warn: (text, fields) => write('warn', text, fields),
    error: (text, fields) => write('error', text, fields),
    setLevel(next) {
      least = LEVELS.indexOf(next)
    },
    tail: () => tail,
    flush,
    close() {
      flush()
      if (fd !== null) closeSync(fd)
      fd = null
    },
  }

  function write(at: LogLevel, text: string, fields: LogFields = {}): void {
    if (LEVELS.indexOf(at) < least) return
    const shown = redact(text)
    const entries = Object.entries(fields)
      .filter(([name, value]) => value !== undefined && !SECRET.test(name))
      .map(([name, value]) => [name, typeof value === 'string' ? redact(value) : value])
    const line = toLine({
      time: new Date(now()).toISOString(),
      level: at,
      text: shown,
      ...Object.fromEntries(entries),
    })
    const id = typeof fields.id === 'string' ? redact(fields.id) : undefined
    tail = [...tail.slice(1 - TAIL), { at: now(), level: at, text: shown, ...(id !== undefined && { id }) }]
    echo?.(line)
    if (file === null) return
    held.push(line)
    if (timer === null) {
      timer = setTimeout(flush, HOLD_MS)
      timer.unref()
    }
  }

  function flush(): void {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (held.length === 0 || file === null) return
    const text = `${held.join('\n')}\n`
    held = []
    try {
      if (fd === null) open()
      if (size > 0 && size + Buffer.byteLength(text) > maxBytes) rotate()
      if (fd !== null) size += writeSync(fd, text)
      broken = false
    } catch (error) {
      // A full disk must not end a service that needs no disk. Said once, where the panel shows it.
      if (!broken)
        tail = [...tail, { at: now(), level: 'warn', text: `The log cannot be written: ${String(error)}` }]
      broken = true
    }
  }

  function open(): void {
    if (file === null) return
    try {
      mkdirSync(dirname(file), { recursive: true })
      fd = openSync(file, 'a', 0o600)
      size = fstatSync(fd).size
    } catch (error) {
      fd = null
      tail = [...tail, { at: now(), level: 'warn', text: `The log cannot be opened: ${String(error)}` }]
    }
  }

  function rotate(): void {
    if (fd !== null) closeSync(fd)
    fd = null
    for (let n = FILES - 1; n > 0; n--) {
      const from = n === 1 ? file! : `${file}.${n - 1}`
      if (existsSync(from)) renameSync(from, `${file}.${n}`)
    }
    open()
  }
}

/** The home folder holds a user's name; paths are written without it. */
export function redact(text: string): string {
  const home = homedir()
  return home.length > 1 ? text.replaceAll(home, '~') : text
}

/** One line whatever is in it: JSON escapes C0, and C1 and the Unicode line ends would break a viewer's line too. */
function toLine(value: Record<string, unknown>): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
