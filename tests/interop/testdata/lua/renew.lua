-- The watchdog: start the leases of many locks anew. KEYS: locks. ARGV: lease in ms, then the owner of each lock.
-- Replies an array with 1 for each lock that its owner still holds, 0 for the others.
local answer = {}
for i = 1, #KEYS do
  answer[i] = redis.call('hexists', KEYS[i], ARGV[i + 1])
  if answer[i] == 1 then
    redis.call('pexpire', KEYS[i], ARGV[1])
  end
end
return answer
