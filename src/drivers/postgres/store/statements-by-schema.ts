// Statement texts as a schema can run them: code N works on schema N − 1, so that a deploy and its migration may come in
// either order. In .sql files a line that ends in `-- since 3` needs schema 3; one that ends in `-- before 3` stands in
// for it on the schema before.
import { migrations } from './migrations/migrations.gen.ts'
import { statements } from './statements.gen.ts'

/** Texts by the name of their file, those of a folder as a group. */
type Texts<Group> = { readonly [Name in keyof Group]: Group[Name] extends string ? string : Texts<Group[Name]> }

export type Statements = Texts<typeof statements>

/** The version that this code brings a schema to. */
export const newestSchema = Math.max(...migrations.map(({ version }) => version))

/** The oldest version that this code works on. */
export const oldestSchema = newestSchema - 1

/** Every statement, for a schema of that version. */
export function statementsFor(schema: number): Statements {
  return fittedGroup(statements, schema) as Statements
}

interface Group {
  readonly [name: string]: string | Group
}

const fittedGroup = (group: Group, schema: number): Group =>
  Object.fromEntries(
    Object.entries(group).map(([name, each]) => [
      name,
      typeof each === 'string' ? fitted(each, schema) : fittedGroup(each, schema),
    ]),
  )

function fitted(text: string, schema: number): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const [, code, word, version] = /^(.*?) *-- (since|before) (\d+)$/.exec(line) ?? []
      if (code === undefined) return [line]
      const there = schema >= Number(version)
      return there === (word === 'since') ? [code] : []
    })
    .join('\n')
}
