import type { Recent } from '../contract.ts'

/** The last decisions, in memory only. Their texts leave one at a time, when the user asks to see one. */
export interface Recents {
  /** `body`: the request as it arrived. */
  add(recent: Recent, body: string): void
  /** Newest first, without any text. */
  list(): Recent[]
  /** The request's text, `undefined` when it is no longer there. `cut`: it was too long to keep whole. */
  reveal(id: string): { body: string; cut: boolean } | undefined
  clear(): void
}

const COUNT = 50
/** Bounds the memory: fifty requests of the largest size would be 100 MB. */
const TEXT_CHARS = 65_536

export function createRecents(): Recents {
  let entries: { recent: Recent; body: string; cut: boolean }[] = []
  let shown: Recent[] | null = []
  return {
    add(recent, body) {
      const cut = body.length > TEXT_CHARS
      entries = [
        { recent, body: cut ? body.slice(0, TEXT_CHARS) : body, cut },
        ...entries.slice(0, COUNT - 1),
      ]
      shown = null
    },
    list() {
      shown ??= entries.map((entry) => entry.recent)
      return shown
    },
    reveal(id) {
      const entry = entries.find(({ recent }) => recent.id === id)
      return entry && { body: entry.body, cut: entry.cut }
    },
    clear() {
      entries = []
      shown = []
    },
  }
}
