-- Wipe: KEYS 1 owner, 2 mark, 3 jobs, 4.. seven of each job. ARGV 1 owner, 2.. the names of these jobs.
-- Returns how many hints there were.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local lost = 0
call('DEL', KEYS[2])
for first = 4, #KEYS, 7 do
  local job = job_at(first)
  for _, lane in ipairs({ job.fresh, job.swept }) do
    lost = lost + ask(0, 'SCARD', lane.set) + ask(0, 'ZCARD', lane.delayed)
  end
  call('UNLINK', unpack(KEYS, first, first + 6))
end
if #ARGV > 1 then call('SREM', KEYS[3], unpack(ARGV, 2)) end
return lost
