-- Move the mark: KEYS 1 owner, 2 mark. ARGV 1 owner, 2 epoch and 3 sequence that the store knows.
-- Returns the mark that it finds, '' when there is none: none is made then (M41). One of the same epoch that is not behind
-- is raised past what is known; any other is left as it is.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
local mark = get(KEYS[2])
if not mark then return '' end
local epoch, sequence = string.match(mark, '^(%S+) (%S+)$')
local known = tonumber(ARGV[3])
if epoch == ARGV[2] and tonumber(sequence) == known then
  -- DEL first: a full server refuses a script whose first write needs memory.
  call('DEL', KEYS[2])
  call('SET', KEYS[2], epoch .. ' ' .. exact(known + 1))
end
return mark
