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

-- Keys of ours that were deleted because somebody had put a value of another type there. It would fail every script that reads the
-- key, those of other jobs included; the sweep brings back the hints that it displaced.
local repaired = {}

local function is_wrong_type(answer)
  return type(answer) == 'table' and type(answer.err) == 'string' and string.find(answer.err, 'WRONGTYPE', 1, true) ~= nil
end

local function repair(key)
  call('UNLINK', key)
  repaired[#repaired + 1] = key
end

-- The answer of a command; `none` where its key has another type, and nothing is deleted. Any other error is raised.
local function ask(none, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or answer.err == nil then return answer end
  if is_wrong_type(answer) then return none end
  return call(...)
end

-- GET of a key that is a text; false when there is none.
local function get(key)
  local found = ask(nil, 'GET', key)
  if found == nil then repair(key) end
  return found or false
end

-- S13: the hints of another store are not ours to touch. Returns the error to answer with; nothing when all is well.
local function foreign(key, owner)
  local found = get(key)
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

local function settle_lanes(job)
  mend(job.fresh)
  mend(job.swept)
  job.delayed = call('EXISTS', job.fresh.delayed, job.swept.delayed) > 0
  if job.delayed then
    job.now = clock()
    settle(job.fresh, job.now)
    settle(job.swept, job.now)
  end
end

local lengths = { 'LLEN', 'LLEN', 'SCARD', 'ZCARD', 'LLEN', 'SCARD', 'ZCARD' }

-- Deletes the job's keys that have another type; false: there are none.
local function repair_job(first)
  local before = #repaired
  for i = 1, 7 do
    local key = KEYS[first + i - 1]
    if ask(nil, lengths[i], key) == nil then repair(key) end
  end
  return #repaired > before
end

-- Lanes of a job as they are now. `first`: number of its first key. Reads every key of the job but `wake`.
local function settled(job, first)
  -- Most jobs have nothing at all most of the time: one command tells.
  job.exists = call('EXISTS', unpack(KEYS, first, first + 6)) > 0
  if not job.exists then
    job.fresh.count, job.fresh.length, job.swept.count, job.swept.length = 0, 0, 0, 0
    return
  end
  local ok, why = pcall(settle_lanes, job)
  if ok then return end
  if not repair_job(first) then error(why, 0) end
  settle_lanes(job)
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
  local tokens = ask(nil, 'LLEN', job.wake)
  if tokens == nil then repair(job.wake) end
  if (tokens or 0) == 0 then redis.pcall('RPUSH', job.wake, '1') end
end
