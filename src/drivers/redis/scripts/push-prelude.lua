-- Begins both pushes, after prelude.lua: KEYS 1 owner, 2 mark, 3 jobs, 4.. the job's seven
-- ARGV 1 owner, 2 job, 3 lane, 4 most that there may be, 5 epoch that a sweep means ('' any), 6.. see the script
local job = job_at(4)
local is_fresh = ARGV[3] == 'fresh'
local target = is_fresh and job.fresh or job.swept

-- Swept hints are only for a queue of the epoch that they were read for: one that was lost is filled by a new pass.
local function is_lost()
  if is_fresh or ARGV[5] == '' then return false end
  local mark = get(KEYS[2])
  return not mark or string.match(mark, '^%S+') ~= ARGV[5]
end

-- The first write of all: where it is refused for want of memory, nothing has been done.
local function name_job()
  if ask(nil, 'SADD', KEYS[3], ARGV[2]) == nil then
    repair(KEYS[3])
    call('SADD', KEYS[3], ARGV[2])
  end
end

-- What both pushes answer. Behind the counts, the keys of Redis that were deleted for their type.
local function pushed(added, merged, dropped)
  return { added, merged, dropped, 0, unpack(repaired) }
end

-- Keys that are in a set, and those that are not.
local function parted(set, keys)
  local flags = call('SMISMEMBER', set, unpack(keys))
  local there, rest = {}, {}
  for i = 1, #keys do
    if flags[i] == 1 then there[#there + 1] = keys[i] else rest[#rest + 1] = keys[i] end
  end
  return there, rest
end

-- Keys that a sorted set has, their scores, and the keys that it has not.
local function scored(sorted, keys)
  local scores = call('ZMSCORE', sorted, unpack(keys))
  local there, found, rest = {}, {}, {}
  for i = 1, #keys do
    if scores[i] then
      there[#there + 1] = keys[i]
      found[#found + 1] = tonumber(scores[i])
    else
      rest[#rest + 1] = keys[i]
    end
  end
  return there, found, rest
end

-- Out of a lane into the fresh one. Their entries in the list go stale; no search, but also no more than twice as many
-- as there are hints: then the list goes round once, and only what is a member comes back.
local function promote(keys)
  if #keys == 0 then return end
  local from = job.swept
  from.count = from.count - call('SREM', from.set, unpack(keys))
  append(job.fresh, keys)
  if from.count == 0 then
    call('UNLINK', from.list)
  elseif from.length > 2 * from.count + page then
    local seen = {}
    for _ = 1, math.ceil(from.length / page) do
      local entries = call('LPOP', from.list, math.min(page, from.length))
      from.length = from.length - #entries
      local flags, kept = call('SMISMEMBER', from.set, unpack(entries)), {}
      for i = 1, #entries do
        if flags[i] == 1 and not seen[entries[i]] then
          seen[entries[i]] = true
          kept[#kept + 1] = entries[i]
        end
      end
      if #kept > 0 then call('RPUSH', from.list, unpack(kept)) end
    end
  end
end

-- The first keys, as many as there is room for.
local function fitting(keys, room)
  if #keys <= room then return keys end
  local some = {}
  for i = 1, room do some[i] = keys[i] end
  return some
end
