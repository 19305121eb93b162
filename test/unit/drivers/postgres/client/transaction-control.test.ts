// What ends a transaction is found wherever it stands in a statement's text, and nothing else is taken for it.
import { expect, test } from 'vitest'
import { transactionControlIn } from '../../../../../src/drivers/postgres/client/transaction-control.ts'

test.each([
  ['commit', 'commit'],
  [' \n BEGIN isolation level serializable', 'BEGIN isolation level serializable'],
  ['start transaction', 'start transaction'],
  ['start/**/transaction', 'start/**/transaction'],
  ["prepare -- x\n transaction 'a'", "prepare -- x\n transaction 'a'"],
  ['end', 'end'],
  ['abort', 'abort'],
  ['rollback', 'rollback'],
  ['rollback and chain', 'rollback and chain'],
  ['rollback transaction', 'rollback transaction'],
  ['/* x */ commit', 'commit'],
  ['/* a /* nested */ comment */ commit', 'commit'],
  ['-- a line\ncommit', 'commit'],
  ['-- a line\rcommit', 'commit'],
  ['select 1; commit', 'commit'],
  ['select 1;commit;select 2', 'commit'],
  [';; commit', 'commit'],
  ['rollback to savepoint a; rollback', 'rollback'],
  [`select 'a''b'; commit`, 'commit'],
  [`select E'it\\'s'; commit`, 'commit'],
  [`select date'2027-01-01\\'; commit`, 'commit'],
  ['select $$ ; $$; commit', 'commit'],
  ['select a$b$c; commit; select a$b$c', 'commit'],
  ['select "a;""b"; commit', 'commit'],
  ['create function f() returns int language sql begin atomic select 1; end; commit', 'commit'],
  ["create function begin() returns int language sql as 'select 1'; commit; begin", 'commit'],
  ['create function case() returns int language sql begin atomic select 1; end; commit', 'commit'],
  ['create function f() returns int language sql begin atomic select 1 as case; end; commit', 'commit'],
  ['create function f() returns int language sql begin atomic select t.case from t; end; commit', 'commit'],
  // With standard_conforming_strings = off the string ends behind its second word.
  [String.raw`select 'it\'s'; commit; select '`, 'commit'],
  [String.raw`select 'a\', '; commit; begin; --'`, 'commit'],
  // With it on, the backslash ends no string.
  [String.raw`select 'c:\'; commit`, 'commit'],
  // The second line goes on with the first one's escapes.
  [
    String.raw`select E'a' -- b
    '\''; commit; select '`,
    'commit',
  ],
])('%j holds %j', (text, control) => {
  expect(transactionControlIn(text)).toBe(control)
})

test.each([
  [''],
  ['select 1'],
  ['select 1; select 2;'],
  ['savepoint a'],
  ['release savepoint a'],
  ['rollback to a'],
  ['ROLLBACK WORK TO SAVEPOINT a'],
  ['rollback /* x */ transaction to a'],
  ['prepare a as select 1'],
  ['start_of_day'],
  ['beginning'],
  [`select 'x; commit'`],
  [`select E'\\'; commit; '`],
  ['select $tag$; commit $x$ $tag$'],
  ['select "x; commit"'],
  ['"commit"'],
  ['select 1 -- ; commit'],
  ['select 1 /* ; commit /* ; commit */ ; commit */'],
  ['update t set a = case when b then 1 end; select 1'],
  ['create or replace function f() returns int language sql begin atomic select case when true then 1 end; end'],
  ['create procedure p() begin atomic insert into t values (1); insert into t values (2); end; select 1'],
  ['create function f() returns int language sql begin atomic select 1 as end; select 2; end; select 1'],
  ["create function begin() returns int language sql as 'select 1'; select 1"],
  [String.raw`insert into t values ('c:\dir'); select 'x; commit'`],
  [String.raw`insert into t values ('c:\')`],
  [String.raw`select 1; update t set a = 'x; commit\'`],
  ['create rule r as on delete to t do also (delete from a; delete from b)'],
  ['select ('],
])('%j holds none', (text) => {
  expect(transactionControlIn(text)).toBeUndefined()
})
