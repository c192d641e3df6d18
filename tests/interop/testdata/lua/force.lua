-- forceUnlock: free the lock whoever holds it. KEYS: lock, channel. ARGV: message, PUBLISH or SPUBLISH. Replies 1 or 0.
local gone = redis.call('del', KEYS[1])
if gone == 1 then
  redis.call(ARGV[2], KEYS[2], ARGV[1])
end
return gone
