-- The text of any value, the same in every session. A part of a statement: :column stands for the value.
-- Before schema 9 there is no such function: types that plain-text.ts cannot write by itself depend on the session's settings there.
regrow.plain_text(:column) -- since 9
:column::text -- before 9
