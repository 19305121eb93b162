-- Begins the push of due hints, before anything else: a job without any hint, which is that of an idle worker, takes few
-- commands. KEYS and ARGV as in push-prelude.lua.
if
  (ARGV[3] == 'fresh' or ARGV[5] == '')
  and #ARGV - 5 <= tonumber(ARGV[4])
  and redis.pcall('GET', KEYS[1]) == ARGV[1]
  and redis.call('EXISTS', unpack(KEYS, 4, 10)) == 0
  -- The first write. Where it is refused, nothing has been done, and the rest of the script says why.
  and type(redis.pcall('SADD', KEYS[3], ARGV[2])) == 'number'
then
  local list = ARGV[3] == 'fresh' and 5 or 8
  redis.call('SADD', KEYS[list + 1], unpack(ARGV, 6))
  redis.call('RPUSH', KEYS[list], unpack(ARGV, 6))
  redis.call('RPUSH', KEYS[4], '1')
  return { #ARGV - 5, 0, 0, 0 }
end
