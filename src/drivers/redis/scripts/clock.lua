-- What time it is, in ms with a fraction: the server's own clock decides what is due (F9).
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + time[2] / 1000
end
