// Work through a long list page by page, some pages at a time: while a server works on one, the next one is made and sent.

/**
 * Calls `page` for 0 … `count`, in order, with `away` of them under way at most. `sizeOf`: items of the page that begins there, one
 * at least. Rejects as the first page that fails does; none begins after that.
 */
export async function inPages(
  { count, away }: { readonly count: number; readonly away: number },
  sizeOf: (from: number) => number,
  page: (from: number, until: number) => Promise<unknown>,
): Promise<void> {
  let at = 0
  const next = async () => {
    while (at < count) {
      const from = at
      at = Math.min(count, from + sizeOf(from))
      await page(from, at).catch((error: unknown) => {
        at = count
        throw error
      })
    }
  }
  await Promise.all(Array.from({ length: Math.min(away, count) }, next))
}
