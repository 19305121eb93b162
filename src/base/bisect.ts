// One bad item must not fail its batch for ever (M36): a batch that an item breaks is halved until the item is alone.

/** Runs `work` over all items; returns the answers of the parts that worked and the items that fail by themselves. */
export async function bisect<Item, Answer>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<Answer>,
  isItemsFault: (error: unknown) => boolean,
): Promise<{ answers: Answer[]; broken: Map<Item, unknown> }> {
  try {
    return { answers: [await work(items)], broken: new Map() }
  } catch (error) {
    if (!isItemsFault(error)) throw error
    const [only] = items
    if (items.length === 1) return { answers: [], broken: new Map([[only as Item, error]]) }
    const middle = items.length >> 1
    const left = await bisect(items.slice(0, middle), work, isItemsFault)
    const right = await bisect(items.slice(middle), work, isItemsFault)
    return { answers: [...left.answers, ...right.answers], broken: new Map([...left.broken, ...right.broken]) }
  }
}
