-- Count: KEYS 1 owner, 2.. seven of each job. ARGV 1 owner. Returns three of each job: due fresh, due swept, delayed.
-- Also what is asked to learn whether the server serves us: a replica, or a server that refuses writes, says so here.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
call('PERSIST', KEYS[1])
local answer = {}
local now = exact(clock())
for first = 2, #KEYS, 7 do
  local job = job_at(first)
  local delayed = 0
  for _, lane in ipairs({ job.fresh, job.swept }) do
    local due = ask(0, 'ZCOUNT', lane.delayed, '-inf', now)
    delayed = delayed + ask(0, 'ZCARD', lane.delayed) - due
    answer[#answer + 1] = ask(0, 'SCARD', lane.set) + due
  end
  answer[#answer + 1] = delayed
end
return answer
