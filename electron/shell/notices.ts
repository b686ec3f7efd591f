import type { Notice } from '../contract.ts'

/** What the shell itself has to say. One notice per id; the ids begin with `shell.`. */
export interface Notices {
  list(): Notice[]
  /** Says it again with a new time when it was said before. */
  show(id: string, level: Notice['level'], sentence: string, hint?: string): void
  /** True when there was one. */
  dismiss(id: string): boolean
}

export function createNotices(now: () => number): Notices {
  const shown = new Map<string, Notice>()
  return {
    list: () => [...shown.values()],
    show(id, level, sentence, hint) {
      shown.set(`shell.${id}`, {
        id: `shell.${id}`,
        level,
        sentence,
        ...(hint !== undefined && { hint }),
        at: now(),
      })
    },
    dismiss: (id) => shown.delete(id.startsWith('shell.') ? id : `shell.${id}`),
  }
}
