/**
 * Byte-pair encoding of one word: merges the neighbouring pair of lowest rank, leftmost first, until none is left.
 * The library's own loop keys every pair by a JSON string and copies a node at every merge; on a word without end
 * that costs over a second, here it is integers in typed arrays. Ids are the same (tokenizer.test.ts).
 * @param vocabulary token to id; every result of a merge is in it.
 * @param merges pairs in order of rank, as `[left, right]` or `"left right"`.
 */
export function createMerger(
  vocabulary: Record<string, number>,
  merges: readonly (readonly [string, string] | string)[],
): (word: string) => string[] {
  const idOf = new Map(Object.entries(vocabulary))
  const tokenOf: string[] = []
  for (const [token, id] of idOf) tokenOf[id] = token
  const width = tokenOf.length
  const rankOf = new Map<number, number>()
  const mergedId = new Int32Array(merges.length)
  merges.forEach((merge, rank) => {
    const [left, right] = typeof merge === 'string' ? (merge.split(' ') as [string, string]) : merge
    const ids = [left, right, left + right].map((token) => idOf.get(token))
    if (ids.includes(undefined))
      throw new RangeError(`merge ${rank} uses a token that is not in the vocabulary`)
    rankOf.set(ids[0]! * width + ids[1]!, rank)
    mergedId[rank] = ids[2]!
  })

  const merge = (word: string): string[] => {
    const characters = Array.from(word)
    const count = characters.length
    // Position of a token = index of its first character. -1: a character without an id, which nothing merges with.
    const ids = new Int32Array(count)
    const next = new Int32Array(count)
    const previous = new Int32Array(count)
    for (let index = 0; index < count; index++) {
      ids[index] = idOf.get(characters[index]!) ?? -1
      next[index] = index + 1
      previous[index] = index - 1
    }
    const rankAt = (index: number): number | undefined => {
      const right = next[index]!
      if (right >= count || ids[index]! < 0 || ids[right]! < 0) return undefined
      return rankOf.get(ids[index]! * width + ids[right]!)
    }
    const queue = createQueue()
    const offer = (index: number): void => {
      const rank = rankAt(index)
      // Rank first, then position: both fit into one exact number.
      if (rank !== undefined) queue.push(rank * 2 ** 31 + index)
    }
    for (let index = 0; index < count - 1; index++) offer(index)
    for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
      const rank = Math.floor(entry / 2 ** 31)
      const index = entry % 2 ** 31
      // The pair may have gone since it was queued.
      if (rankAt(index) !== rank) continue
      const right = next[index]!
      ids[index] = mergedId[rank]!
      ids[right] = -1
      next[index] = next[right]!
      if (next[index]! < count) previous[next[index]!] = index
      if (previous[index]! >= 0) offer(previous[index]!)
      offer(index)
    }
    const tokens: string[] = []
    for (let index = 0; index < count; index = next[index]!) {
      tokens.push(ids[index]! < 0 ? characters[index]! : tokenOf[ids[index]!]!)
    }
    return tokens
  }
  return remember(merge)
}

/** Words repeat; ones without end do not. */
const longestRemembered = 256
const mostRemembered = 10_000

function remember(merge: (word: string) => string[]): (word: string) => string[] {
  const known = new Map<string, string[]>()
  return (word) => {
    const found = known.get(word)
    if (found !== undefined) return found
    const tokens = merge(word)
    if (word.length <= longestRemembered) {
      if (known.size >= mostRemembered) known.clear()
      known.set(word, tokens)
    }
    return tokens
  }
}

/** Binary heap of numbers, smallest first. */
function createQueue(): { push(entry: number): void; pop(): number | undefined } {
  const heap: number[] = []
  return {
    push(entry) {
      let at = heap.push(entry) - 1
      while (at > 0) {
        const parent = (at - 1) >> 1
        if (heap[parent]! <= entry) break
        heap[at] = heap[parent]!
        at = parent
      }
      heap[at] = entry
    },
    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (heap.length === 0 || last === undefined) return first
      let at = 0
      for (;;) {
        let child = 2 * at + 1
        if (child >= heap.length) break
        if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++
        if (heap[child]! >= last) break
        heap[at] = heap[child]!
        at = child
      }
      heap[at] = last
      return first
    },
  }
}
