// SQL is cut into words without touching what only looks like a parameter or a name.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shifted, tokens, unqualified } from '../../../../../../src/drivers/postgres/store/diagnose/sql-tokens.ts'

test('parameters move, and what looks like one in strings, names and comments stays', () => {
  const text = `select $1, $12, 'a$1''$2', E'it\\'s $3', "c$1", x$1, $$ $1 $$, $t$ $2 $$ $t$ -- $4\n /* $5 /* $6 */ $7 */ from t where a = $2`
  expect(shifted(text, 10)).toBe(
    text.replace('select $1, $12', 'select $11, $22').replace('where a = $2', 'where a = $12'),
  )
})

test('a qualified table loses its schema, wherever it is named, and nothing else does', () => {
  expect(
    unqualified(`select App.databases.id from app . "databases" join app.databasesx using (id)`, 'app', 'databases'),
  ).toBe(`select "databases".id from "databases" join app.databasesx using (id)`)
  expect(unqualified(`select 'app.databases' from "App".databases, a.app.other`, 'app', 'databases')).toBe(
    `select 'app.databases' from "App".databases, a.app.other`,
  )
  expect(unqualified(`select 1 from "O""k"."t"`, 'O"k', 't')).toBe('select 1 from "t"')
})

test('the pieces of any text are that text', () => {
  const piece = fc.constantFrom("'", '"', '$', '$$', '$1', '/*', '*/', '--', '\n', 'a', '.', 'E', '\\', ' ', ';')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('')
      expect(
        tokens(text)
          .map((token) => token.text)
          .join(''),
      ).toBe(text)
    }),
  )
})
