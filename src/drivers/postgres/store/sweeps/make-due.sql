-- Make due: the sweeps of these jobs are due now. $1 json [job] · $2 true: from the beginning · $3 true: ramped
-- A pass under way goes on, and another one follows it. From the beginning, its turn is taken from it, unless it has only
-- just begun there: a fleet that says so all at once begins twice at most.
with env as materialized (
  select regrow.clock() as at
),
chosen as materialized (
  select s.job, $2::boolean and not (
    s.holder is not null and s.cursor is null and coalesce(s.last_attempt_at > env.at - interval '1 second', false)
  ) as anew
  from regrow.sweeps s cross join env
  where s.job in (select jsonb_array_elements_text($1::text::jsonb)) order by s.job for update of s
)
update regrow.sweeps s set next_at = env.at,
  cursor = case when c.anew then null else s.cursor end,
  holder = case when c.anew then null else s.holder end,
  until = case when c.anew then null else s.until end,
  last_holder = case when c.anew then null else s.last_holder end
  , pass_seen = case when c.anew then 0 else s.pass_seen end
  , pass_unusable = case when c.anew then 0 else s.pass_unusable end -- since 9
  , ramped_at = case when $3::boolean then env.at else s.ramped_at end
from chosen c cross join env where s.job = c.job
returning s.job
