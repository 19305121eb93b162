-- Pop: removes due hints of some jobs, fresh ones first, but `share` of them from the swept lanes before that.
-- KEYS 1 owner, 2 mark, 3.. seven of each job
-- ARGV 1 owner, 2 most over all jobs, 3 share; then three of each job: most of it, most of its fresh, most of its swept lane
-- Returns the mark ('' none), ms until the next delayed hint (-1: none, or hints were found), then runs of hints:
-- number of the job (from 0), 1 fresh or 0 swept, how many, their keys. A last run of number -1 names the keys of Redis that were
-- deleted for their type.
-- It only removes, or begins to write by removing: so it works on a server without memory for more, too.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local limit, share = tonumber(ARGV[2]), tonumber(ARGV[3])
local answer = { get(KEYS[2]) or '', -1 }
local found = 0

local jobs = {}
for i = 0, (#KEYS - 2) / 7 - 1 do
  local job = job_at(3 + 7 * i)
  settled(job, 3 + 7 * i)
  if job.exists then
    job.number, job.room = i, tonumber(ARGV[4 + 3 * i])
    job.fresh.room, job.swept.room = tonumber(ARGV[5 + 3 * i]), tonumber(ARGV[6 + 3 * i])
    jobs[#jobs + 1] = job
  end
end

local function hand_out(job, lane, keys)
  local n = #keys
  if n == 0 then return end
  local at = #answer
  answer[at + 1], answer[at + 2], answer[at + 3] = job.number, lane == job.fresh and 1 or 0, n
  for i = 1, n do answer[at + 3 + i] = keys[i] end
  found, job.room, lane.room = found + n, job.room - n, lane.room - n
end

-- Where there are as many entries as members, each entry is a member.
local function take_all(job, lane, n)
  local keys = call('LPOP', lane.list, n)
  local members = call('SREM', lane.set, unpack(keys))
  lane.length, lane.count = lane.length - #keys, lane.count - members
  if members == #keys then return hand_out(job, lane, keys) end
  -- Somebody else wrote here: text that is no hint's comes out like one, and the check drops it.
  local seen, distinct = {}, {}
  for i = 1, #keys do
    if not seen[keys[i]] then
      seen[keys[i]] = true
      distinct[#distinct + 1] = keys[i]
    end
  end
  hand_out(job, lane, distinct)
end

local function take_members(job, lane, n)
  local entries = call('LRANGE', lane.list, 0, math.max(n, 100) - 1)
  local flags = call('SMISMEMBER', lane.set, unpack(entries))
  local keys, seen, passed = {}, {}, 0
  while passed < #entries and #keys < n do
    passed = passed + 1
    local key = entries[passed]
    if flags[passed] == 1 and not seen[key] then
      seen[key] = true
      keys[#keys + 1] = key
    end
  end
  call('LTRIM', lane.list, passed, -1)
  lane.length = lane.length - passed
  if #keys > 0 then lane.count = lane.count - call('SREM', lane.set, unpack(keys)) end
  hand_out(job, lane, keys)
end

local function take(name, most)
  local until_found = found + most
  for _, job in ipairs(jobs) do
    local lane = job[name]
    while lane.count > 0 and lane.length > 0 do
      local n = math.min(until_found - found, job.room, lane.room, page)
      if n <= 0 then break end
      if lane.count == lane.length then take_all(job, lane, math.min(n, lane.length)) else take_members(job, lane, n) end
    end
  end
end

take('swept', share)
take('fresh', limit - found)
take('swept', limit - found)

local now
for _, job in ipairs(jobs) do
  -- Who is blocked on a token of a job without due hints would wake for nothing.
  if job.fresh.count + job.swept.count > 0 then ring(job) else call('UNLINK', job.wake) end
  if found == 0 and job.delayed then
    local due = next_due(job)
    now = now or clock()
    if due and (answer[2] < 0 or due - now < answer[2]) then answer[2] = math.max(0, math.ceil(due - now)) end
  end
end
if #repaired > 0 then
  local at = #answer
  answer[at + 1], answer[at + 2], answer[at + 3] = -1, 2, #repaired
  for i = 1, #repaired do answer[at + 3 + i] = repaired[i] end
end
return answer
