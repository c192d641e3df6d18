package runner

import (
	"fmt"
	"strconv"
	"time"
)

// tickScript decides, by the server's clock, whether the present tick has run, and takes it if it has not.
// The ticks are the multiples of the period since 1970, and the present one is the nearest. So a job of every
// minute starts in the same tick on all machines with clocks that are less than half a period off.
//
// KEYS[1] is the record: the last tick that has run, in milliseconds, and the owner of that run. ARGV: the
// period and the life of the record in milliseconds, the owner, and "take", or "look" to change nothing. The
// reply is the tick, or 0 if it has run. A tick that the same owner has taken is not counted twice, so the
// script may be sent again. A clock that steps back gives no tick a second run.
const tickScript = `
local clock = redis.call('TIME')
local period = tonumber(ARGV[1])
local tick = clock[1] * 1000 + math.floor(clock[2] / 1000) + period / 2
tick = tick - tick % period
local record = redis.call('GET', KEYS[1])
if record then
	local last, owner = string.match(record, '^(%d+) (.*)$')
	if not last then
		return redis.error_reply('ERR the key of the ticks holds something else: ' .. KEYS[1])
	end
	last = tonumber(last)
	if last > tick or (last == tick and owner ~= ARGV[3]) then
		return 0
	end
end
if ARGV[4] == 'take' then
	redis.call('SET', KEYS[1], string.format('%.0f', tick) .. ' ' .. ARGV[3], 'PX', ARGV[2])
end
return tick
`

// tickCommand returns the command that reads the state of the present tick, or takes the tick.
func tickCommand(key, owner string, tick, keep time.Duration, mode string) []string {
	return []string{"EVAL", tickScript, "1", key + tickRecordsSuffix, strconv.FormatInt(tick.Milliseconds(), 10),
		strconv.FormatInt(keep.Milliseconds(), 10), owner, mode}
}

// The modes of tickScript.
const (
	lookAtTick = "look"
	takeTick   = "take"
)

// errTickHasRun says that the tick has run, so the command does not run.
type errTickHasRun struct{ tick time.Duration }

func (e errTickHasRun) Error() string {
	return fmt.Sprintf("the present tick of %v has run already", e.tick)
}
