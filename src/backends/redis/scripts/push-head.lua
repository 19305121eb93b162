-- Begins the push of due hints, before anything else: a job without any hint, which is that of an idle worker, takes few
-- commands. KEYS and ARGV as in push-prelude.lua.
if
  (ARGV[3] == 'fresh' or ARGV[5] == '')
  and #ARGV - 5 <= tonumber(ARGV[4])
  and redis.call('GET', KEYS[1]) == ARGV[1]
  and redis.call('EXISTS', unpack(KEYS, 4, 10)) == 0
then
  local list = ARGV[3] == 'fresh' and 5 or 8
  -- Refused for want of memory it is the first write, and nothing has been done.
  redis.call('SADD', KEYS[3], ARGV[2])
  redis.call('SADD', KEYS[list + 1], unpack(ARGV, 6))
  redis.call('RPUSH', KEYS[list], unpack(ARGV, 6))
  redis.call('RPUSH', KEYS[4], '1')
  return { #ARGV - 5, 0, 0, 0 }
end
