// Where hints lie: the names of keys. All keys of a slot have one hash tag, so that a cluster keeps them together (F28).

/** Keys of one hash tag; a queue has one, or as many as it is spread over. */
export interface Slot {
  readonly number: number
  readonly owner: string
  readonly mark: string
  /** Names of jobs that have hints here. */
  readonly jobs: string
  /** Wakes the blocked connection of one process: `call(id)`. */
  call(id: string): string
}

/** Keys of one job, in the order of prelude.lua: wake, then list, set and delayed of the fresh lane, and of the swept one. */
export interface Place {
  readonly slot: Slot
  readonly wake: string
  readonly keys: readonly string[]
}

export class Places {
  readonly slots: readonly Slot[]
  readonly #tags: readonly string[]
  readonly #places = new Map<string, Place>()

  constructor(namespace: string, shards: number) {
    this.#tags = Array.from({ length: shards }, (_, i) => (shards === 1 ? `{${namespace}}` : `{${namespace}:${i}}`))
    this.slots = this.#tags.map((tag, number) => ({
      number,
      owner: `${tag}:owner`,
      mark: `${tag}:mark`,
      jobs: `${tag}:jobs`,
      call: (id) => `${tag}:call:${id}`,
    }))
  }

  /** The job that a key is of; null: it is of all jobs of its slot. */
  jobOf(key: string): string | null {
    const [, job] = /\}:(?:wake|(?:fresh|swept)(?:-set|-delayed)?):(.*)$/s.exec(key) ?? []
    return job ?? null
  }

  of(job: string): Place {
    const known = this.#places.get(job)
    if (known) return known
    const number = this.slots.length === 1 ? 0 : hash(job) % this.slots.length
    const tag = this.#tags[number] as string
    // The job comes last: its name may hold anything.
    const [wake, ...lanes] = ['wake', 'fresh', 'fresh-set', 'fresh-delayed', 'swept', 'swept-set', 'swept-delayed'].map(
      (what) => `${tag}:${what}:${job}`,
    ) as [string, ...string[]]
    const place = { slot: this.slots[number] as Slot, wake, keys: [wake, ...lanes] }
    this.#places.set(job, place)
    return place
  }
}

/** FNV-1a over the text: the same in every process and version. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193) >>> 0
  return sum
}
