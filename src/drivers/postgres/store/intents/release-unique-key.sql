-- Yield: an intent in quarantine gives its unique key up, so that another one may have it. It stays where it is, with its input.
-- $1 job · $2 unique key. Returns a row when one did. Index: intents_unique, ledger_pkey.
update regrow.intents n set unique_key = null
where n.job = $1::text and n.unique_key = $2::text and exists (
  select 1 from regrow.ledger l where l.key = n.id::text and l.job = n.job and l.state = 'quarantined' and l.holder is null
)
returning n.id::text as id
