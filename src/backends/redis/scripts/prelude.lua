-- Begins every script, after clock.lua. A job has seven keys, in this order:
--   wake (tokens for blocked poppers), then per lane, fresh and swept: list (order), set (membership), delayed (by due time)
-- Membership is the truth, a list only gives order: an entry of it whose key is no member is stale and passed over.
-- A key is a member of one set or sorted set at most (S12).
local call = redis.call
local page = 1000

-- In full: Lua would round numbers of more than 14 digits.
local function exact(number)
  return string.format('%.17g', number)
end

-- S13: the hints of another store are not ours to touch. Returns the error to answer with; nothing when all is well.
local function foreign(key, owner)
  local found = call('GET', key)
  if found == owner then return nil end
  if found then return redis.error_reply('REGROWFOREIGN ' .. found) end
  -- A full server refuses it, and may still be popped from.
  redis.pcall('SET', key, owner)
end

local function job_at(first)
  return {
    wake = KEYS[first],
    fresh = { list = KEYS[first + 1], set = KEYS[first + 2], delayed = KEYS[first + 3] },
    swept = { list = KEYS[first + 4], set = KEYS[first + 5], delayed = KEYS[first + 6] },
  }
end

-- F25: a server that evicts keys may take a list and leave its set, whose members would never be popped, and block
-- every push of their keys. What is left of such a lane is dropped: the sweep brings it back.
local function mend(lane)
  lane.count, lane.length = call('SCARD', lane.set), call('LLEN', lane.list)
  if (lane.count == 0) ~= (lane.length == 0) then
    call('UNLINK', lane.list, lane.set)
    lane.count, lane.length = 0, 0
  end
end

local function append(lane, keys)
  if #keys == 0 then return end
  lane.count = lane.count + call('SADD', lane.set, unpack(keys))
  lane.length = call('RPUSH', lane.list, unpack(keys))
end

-- Delayed hints that are due go to their lane, in the order of their times. ZREM comes first: a full server lets a script
-- go on that has begun to write, and so it can be popped empty.
local function settle(lane, now)
  for _ = 1, 10 do
    local due = call('ZRANGEBYSCORE', lane.delayed, '-inf', exact(now), 'LIMIT', 0, page)
    if #due == 0 then return end
    call('ZREM', lane.delayed, unpack(due))
    append(lane, due)
    if #due < page then return end
  end
end

-- Lanes of a job as they are now. `first`: number of its first key.
local function settled(job, first)
  -- Most jobs have nothing at all most of the time: one command tells.
  job.exists = call('EXISTS', unpack(KEYS, first, first + 6)) > 0
  if not job.exists then
    job.fresh.count, job.fresh.length, job.swept.count, job.swept.length = 0, 0, 0, 0
    return
  end
  mend(job.fresh)
  mend(job.swept)
  job.delayed = call('EXISTS', job.fresh.delayed, job.swept.delayed) > 0
  if job.delayed then
    job.now = clock()
    settle(job.fresh, job.now)
    settle(job.swept, job.now)
  end
end

-- Due time of the first delayed hint of a job; nil: there is none.
local function next_due(job)
  local first = call('ZRANGE', job.fresh.delayed, 0, 0, 'WITHSCORES')[2]
  local second = call('ZRANGE', job.swept.delayed, 0, 0, 'WITHSCORES')[2]
  if first and second then return math.min(tonumber(first), tonumber(second)) end
  return tonumber(first or second)
end

-- One token is enough: who takes it pops, and leaves another one when hints are left.
local function ring(job)
  if call('LLEN', job.wake) == 0 then redis.pcall('RPUSH', job.wake, '1') end
end
