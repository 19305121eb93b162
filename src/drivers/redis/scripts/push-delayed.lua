-- Push of delayed hints of one job and lane. ARGV 6.. keys, each once, 1,000 at most; then as many delays in ms.
-- Returns added, merged, dropped, lost, and the keys of Redis that were deleted for their type.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local asked = (#ARGV - 5) / 2
if is_lost() then return { 0, 0, 0, asked } end
name_job()
settled(job, 4)
local now = job.now or clock()
local earliest = job.delayed and next_due(job) or nil

local rest, due = { unpack(ARGV, 6, 5 + asked) }, {}
for i = 1, asked do due[rest[i]] = now + tonumber(ARGV[5 + asked + i]) end
local _, there, scores
local moved = 0
if job.fresh.count > 0 then
  _, rest = parted(job.fresh.set, rest)
end
if job.swept.count > 0 and #rest > 0 then
  there, rest = parted(job.swept.set, rest)
  if is_fresh then
    promote(there)
    moved = #there
  end
end

-- ZADD takes pairs.
local put, taken = {}, 0
local function plan(key, score)
  put[#put + 1] = exact(score)
  put[#put + 1] = key
  if not earliest or score < earliest then earliest, moved = score, moved + 1 end
end
if job.delayed then
  for _, lane in ipairs({ job.fresh, job.swept }) do
    if #rest == 0 then break end
    there, scores, rest = scored(lane.delayed, rest)
    if is_fresh then
      for i = 1, #there do
        -- Never later than it was; out of the swept lane in any case.
        if lane == job.swept or due[there[i]] < scores[i] then plan(there[i], math.min(due[there[i]], scores[i])) end
      end
      if lane == job.swept and #there > 0 then taken = call('ZREM', lane.delayed, unpack(there)) end
    end
  end
end

local merged = asked - #rest
-- What was just taken out of the swept lane still counts: it goes into the fresh one.
local held = taken
if job.delayed then held = held + call('ZCARD', job.fresh.delayed) + call('ZCARD', job.swept.delayed) end
local new = fitting(rest, math.max(0, tonumber(ARGV[4]) - held))
for i = 1, #new do plan(new[i], due[new[i]]) end
if #put > 0 then call('ZADD', target.delayed, unpack(put)) end
if moved > 0 then ring(job) end
return pushed(#new, merged, #rest - #new)
