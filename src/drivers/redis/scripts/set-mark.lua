-- Write the mark: KEYS 1 owner, 2 mark. ARGV 1 owner, 2 epoch, 3 sequence. Returns 1.
local wrong = foreign(KEYS[1], ARGV[1])
if wrong then return wrong end
-- DEL first: a full server refuses a script whose first write needs memory.
call('DEL', KEYS[2])
call('SET', KEYS[2], ARGV[2] .. ' ' .. ARGV[3])
return 1
