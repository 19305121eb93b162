-- Push of due hints of one job and lane. ARGV 6.. keys, each once, 1,000 at most.
-- Returns added, merged, dropped, lost, and the keys of Redis that were deleted for their type.
-- Few commands over all keys: a loop of one command per key takes twice as long.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local asked = #ARGV - 5
if is_lost() then return { 0, 0, 0, asked } end
name_job()
settled(job, 4)

local rest = { unpack(ARGV, 6) }
local moved = 0
if target.count > 0 then
  local _
  _, rest = parted(target.set, rest)
end
local other = is_fresh and job.swept or job.fresh
if other.count > 0 and #rest > 0 then
  local there
  there, rest = parted(other.set, rest)
  if is_fresh then
    promote(there)
    moved = moved + #there
  end
end
if job.delayed then
  for _, lane in ipairs({ job.fresh, job.swept }) do
    if #rest == 0 then break end
    local there, _
    there, _, rest = scored(lane.delayed, rest)
    if is_fresh and #there > 0 then
      call('ZREM', lane.delayed, unpack(there))
      append(job.fresh, there)
      moved = moved + #there
    end
  end
end

local merged = asked - #rest
local new = fitting(rest, math.max(0, tonumber(ARGV[4]) - target.count))
append(target, new)
if #new + moved > 0 then ring(job) end
return pushed(#new, merged, #rest - #new)
