/**
 * A bounded queue that several groups share: each may use what is free. When groups compete, they take turns, and a
 * full queue refuses the group that waits most.
 */
export class FairQueue<Item> {
  /** The items of each group in order of arrival; the groups in the order of their turns. */
  readonly #groups = new Map<string, Item[]>()
  readonly #capacity: number
  #size = 0

  /** `capacity`: how many items may wait, of all groups together. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#size
  }

  /**
   * Adds an item. Returns the item that has no place: undefined while there is room; else the newest one of the largest
   * group, which is the given one unless another group is larger than its group.
   */
  add(group: string, item: Item): Item | undefined {
    const own = this.#groups.get(group) ?? []
    let refused: Item | undefined
    if (this.#size >= this.#capacity) {
      const [largest, items] = this.#largest()
      if (items.length <= own.length) return item
      refused = items.pop()
      this.#size -= 1
      if (items.length === 0) this.#groups.delete(largest)
    }
    own.push(item)
    this.#size += 1
    this.#groups.set(group, own)
    return refused
  }

  /** Takes the item whose turn it is: the oldest one of the group that has waited longest for a turn. */
  take(): Item | undefined {
    const [turn] = this.#groups
    if (turn === undefined) return undefined
    const [group, items] = turn
    const item = items.shift()
    this.#size -= 1
    this.#groups.delete(group)
    if (items.length > 0) this.#groups.set(group, items)
    return item
  }

  #largest(): readonly [group: string, items: Item[]] {
    let largest: [string, Item[]] = ['', []]
    for (const entry of this.#groups) if (entry[1].length > largest[1].length) largest = entry
    return largest
  }
}
