// Values by numbers that are handed out one after the other and given back in any order. A Map makes its table anew again and again
// when a hundred thousand come and go in a second; here they come and go in pages.

const pageSize = 256

interface Page<Value> {
  /** The number of its first value. */
  readonly from: number
  readonly values: (Value | undefined)[]
  count: number
}

export class Numbered<Value extends object> {
  readonly #pages = new Map<number, Page<Value>>()
  /** The page that was asked for last: most often it is the next one, too. */
  #page: Page<Value> | undefined

  set(number: number, value: Value): void {
    const page = this.#pageOf(number) ?? this.#add(number)
    const at = number - page.from
    if (page.values[at] === undefined) page.count++
    page.values[at] = value
  }

  has(number: number): boolean {
    const page = this.#pageOf(number)
    return page !== undefined && page.values[number - page.from] !== undefined
  }

  delete(number: number): void {
    const page = this.#pageOf(number)
    if (page === undefined || page.values[number - page.from] === undefined) return
    page.values[number - page.from] = undefined
    if (--page.count > 0) return
    this.#pages.delete(page.from)
    this.#page = undefined
  }

  clear(): void {
    this.#pages.clear()
    this.#page = undefined
  }

  /** Page by page in the order in which these were begun. */
  *entries(): IterableIterator<[number, Value]> {
    for (const { from, values } of this.#pages.values())
      for (const [at, value] of values.entries()) if (value !== undefined) yield [from + at, value]
  }

  #pageOf(number: number): Page<Value> | undefined {
    const from = firstOf(number)
    if (this.#page?.from !== from) this.#page = this.#pages.get(from)
    return this.#page
  }

  #add(number: number): Page<Value> {
    const from = firstOf(number)
    this.#page = { from, values: new Array<Value | undefined>(pageSize).fill(undefined), count: 0 }
    this.#pages.set(from, this.#page)
    return this.#page
  }
}

const firstOf = (number: number) => number - (number % pageSize)
