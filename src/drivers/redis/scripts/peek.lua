-- Peek: KEYS 1 owner, 2.. the job's seven. ARGV 1 owner, 2.. keys, 1,000 at most.
-- Returns two of each key: 0 no hint, 1 fresh, 2 swept; and how long until it is due, in ms. Changes nothing.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local answer, asked = {}, #ARGV - 1
if asked == 0 then return answer end
for i = 1, 2 * asked do answer[i] = 0 end
local job, now = job_at(2), clock()
for number, lane in ipairs({ job.fresh, job.swept }) do
  -- Members of a set whose list was evicted are never popped (F25): they are no hints.
  local members = ask(0, 'LLEN', lane.list) > 0 and ask({}, 'SMISMEMBER', lane.set, unpack(ARGV, 2)) or {}
  local scores = ask({}, 'ZMSCORE', lane.delayed, unpack(ARGV, 2))
  for i = 1, asked do
    if members[i] == 1 then
      answer[2 * i - 1] = number
    elseif scores[i] then
      answer[2 * i - 1], answer[2 * i] = number, math.max(0, math.ceil(tonumber(scores[i]) - now))
    end
  end
end
return answer
