// The pending query: which rows imply that the job should run.

/** A value that every SQL client passes alike. */
export type SqlValue = string | number | boolean | null

/** A statement with `$1 …` parameters. */
export interface SqlQuery {
  readonly text: string
  readonly values: readonly SqlValue[]
}

/** Builds a query whose `${values}` are parameters, never text. */
export function sql(strings: TemplateStringsArray, ...values: readonly SqlValue[]): SqlQuery {
  return { text: strings.reduce((text, part, i) => `${text}$${i}${part}`), values }
}
