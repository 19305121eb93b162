-- Forget: KEYS 1 owner, 2 jobs, 3.. seven of the job. ARGV 1 owner, 2 the name of the job. The mark stays.
-- Returns how many hints there were.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local job, lost = job_at(3), 0
for _, lane in ipairs({ job.fresh, job.swept }) do
  lost = lost + call('SCARD', lane.set) + call('ZCARD', lane.delayed)
end
call('UNLINK', unpack(KEYS, 3, 9))
call('SREM', KEYS[2], ARGV[2])
return lost
