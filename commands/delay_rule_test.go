package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyevent"
)

// dues returns the field delay.due of a stream's entries, in milliseconds after startMS.
func (f *fixture) dues(stream string) (list []int64) {
	for _, e := range f.do("XRANGE", stream, "-", "+").Elems {
		fields := e.Elems[1].Elems
		require.Equal(f.t, dueField, fields[len(fields)-2].Str)
		var ms int64
		_, err := fmt.Sscan(fields[len(fields)-1].Str, &ms)
		require.NoError(f.t, err)
		list = append(list, ms-startMS)
	}
	return list
}

// run lets time pass in steps of a millisecond.
func (f *fixture) run(ms int) {
	for range ms {
		f.fire(1, 10)
	}
}

func TestRecurringEntriesFire(t *testing.T) {
	f := newDelays(t)
	f.settings.Events = keyevent.All
	want := func(reply, line string, effects ...string) {
		t.Helper()
		require.Equal(t, reply, f.do(splitWords(t, line)...).String(), line)
		require.Equal(t, effects, f.effects(), line)
	}
	rule := func(times string, atMS int) string {
		words := fmt.Sprintf("5:EVERY,3:100,%s6:MISSED,4:ONCE,13:%d,1:0,", times, startMS+int64(atMS))
		return fmt.Sprintf("a0*%d:%s,1:n,1:1,", len(words), words)
	}
	want(`"a"`, "DELAY.ADD s PX 30 EVERY 100 TIMES 3 ID a n 1", "0 ZADD {s}:delayed 1700000000030 a0:a",
		"0 HSET {s}:delayed:entries a "+rule("5:TIMES,1:3,", 30))
	want(`$nil`, "DELAY.ADD s PX 5 EVERY 7 ID a n 3")
	want(`[1700000000030 ["n" "1"] ["EVERY" "100" "TIMES" "3" "MISSED" "ONCE"]]`, "DELAY.GET s a")
	want(`[["a" 1700000000030 ["n" "1"] ["EVERY" "100" "TIMES" "3" "MISSED" "ONCE"]]]`, "DELAY.LIST s")
	f.events = nil
	require.Equal(t, []int64{1}, f.fire(31, 10))
	require.Equal(t, []string{"0 XADD s 1700000000031-0 n 1 delay.due 1700000000030", "0 ZADD {s}:delayed 1700000000130 a0:a",
		"0 HSET {s}:delayed:entries a " + rule("5:TIMES,1:2,", 130)}, f.effects())
	require.Equal(t, []string{"xadd s", "zadd {s}:delayed", "hset {s}:delayed:entries"}, f.events)
	want(`[1700000000130 ["n" "1"] ["EVERY" "100" "TIMES" "2" "MISSED" "ONCE"]]`, "DELAY.GET s a")
	require.Empty(t, f.fire(98, 10))
	require.Len(t, f.fire(1, 10), 1)
	require.Len(t, f.fire(100, 10), 1)
	f.effects()
	want(`0`, "DELAY.COUNT s")
	want(`1`, "DBSIZE")
	require.Empty(t, f.fire(1000, 10))
	require.Equal(t, []int64{30, 130, 230}, f.dues("s"))
	require.Equal(t, "1 1 1", f.values("s"))
}

// TestFirstTimeOfARule: a time is that of the first entry with EVERY, and the earliest with CRON.
func TestFirstTimeOfARule(t *testing.T) {
	for line, dueMS := range map[string]int64{
		"EVERY 700":                                     startMS + 700,
		"PX 50 EVERY 700":                               startMS + 50,
		"AT 1700000000050 EVERY 700":                    startMS + 50,
		"AT 1000 EVERY 700":                             1000,
		"AT 1000 EVERY 3600000 MISSED SKIP":             startMS - startMS%3_600_000 + 3_601_000, // startMS is 22:13:20
		"CRON '*/7 * * * * *'":                          startMS + 1000,
		"PX 1001 CRON '*/7 * * * * *'":                  startMS + 8000,
		"PX 1000 CRON '*/7 * * * * *'":                  startMS + 1000,
		"CRON '20 13 22 * * *'":                         startMS,
		"CRON '0 9 * * *' TZ Asia/Tokyo":                1700006400000,
		"CRON '0 9 * * *'":                              1700038800000,
		"AT 1600000000000 CRON '0 9 * * *'":             1600074000000,
		"AT 1600000000000 CRON '0 9 * * *' MISSED SKIP": 1700038800000,
		"CRON '0 0 31 * *' UNTIL 1703980800000":         1703980800000,
	} {
		f := newDelays(t)
		require.Equal(t, `"a"`, f.do(append(append([]string{"DELAY.ADD", "s"}, splitWords(t, line)...), "ID", "a", "n", "1")...).String(), line)
		require.Equal(t, dueMS, f.do("DELAY.GET", "s", "a").Elems[0].Int, line)
	}
}

func TestDelayRefusesBadRules(t *testing.T) {
	f := newDelays(t)
	for line, reply := range map[string]string{
		"EVERY 0 n 1":                            ErrDelayEvery.Error(),
		"EVERY x n 1":                            ErrDelayEvery.Error(),
		"EVERY 1125899906842625 n 1":             ErrDelayEvery.Error(),
		"PX 5 EVERY -1 n 1":                      ErrDelayEvery.Error(),
		"PX -1 EVERY 5 n 1":                      ErrDelayTime.Error(),
		"EVERY 5 TIMES 0 n 1":                    ErrDelayTimes.Error(),
		"EVERY 5 TIMES x n 1":                    ErrDelayTimes.Error(),
		"EVERY 5 UNTIL 0 n 1":                    ErrDelayTime.Error(),
		"EVERY 5 MISSED TWICE n 1":               ErrSyntax.Error(),
		"EVERY 5 UNTIL 1700000000004 n 1":        ErrDelayNever.Error(),
		"CRON '0 0 30 2 *' n 1":                  ErrDelayNever.Error(),
		"CRON '0 0 * *' n 1":                     ErrDelayCron.Error(),
		"CRON '@daily' n 1":                      ErrDelayCron.Error(),
		"CRON '0 0 * * *' TZ Europe/Nowhere n 1": "ERR time zone 'Europe/Nowhere' is not known",
		"CRON '0 0 * * *' TZ '' n 1":             "ERR time zone '' is not known",
		"CRON '0 0 * * *' EVERY 5":               "",
		"EVERY 5 TZ UTC":                         "",
		"EVERY 5 TIMES 2":                        "ERR wrong number of arguments for 'delay.add' command",
		"TIMES 5 EVERY 5 n 1":                    ErrSyntax.Error(),
		"EVERY 5 ID '' n 1":                      ErrDelayID.Error(),
		"EVERY 5 ID a n":                         "ERR wrong number of arguments for 'delay.add' command",
	} {
		v := f.do(append([]string{"DELAY.ADD", "s"}, splitWords(t, line)...)...)
		if reply == "" { // these words are fields there
			require.False(t, v.IsError(), line)
			f.effects()
			continue
		}
		require.Equal(t, "-"+reply, v.String(), line)
		require.Empty(t, f.effects(), line)
	}
}

// missed lets 95 ms pass at once for an entry that is due each 10 ms, and then 20 single ones.
func missed(t *testing.T, options string) *fixture {
	f := newDelays(t)
	f.do(append(append([]string{"DELAY.ADD", "s", "EVERY", "10"}, strings.Fields(options)...), "ID", "a", "n", "1")...)
	f.run(10)
	f.since = f.nowMS + 95
	f.fire(95, 10)
	f.run(20)
	return f
}

func TestMissedTimes(t *testing.T) {
	require.Equal(t, []int64{10, 20, 110, 120}, missed(t, "").dues("s"))
	require.Equal(t, []int64{10, 20, 110, 120}, missed(t, "MISSED ONCE").dues("s"))
	require.Equal(t, []int64{10, 110, 120}, missed(t, "MISSED SKIP").dues("s"))
	require.Equal(t, []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120}, missed(t, "MISSED ALL").dues("s"))
	require.Equal(t, []int64{10, 20, 30}, missed(t, "MISSED ALL TIMES 3").dues("s"))
	require.Equal(t, []int64{10, 110, 120}, missed(t, "MISSED SKIP TIMES 3").dues("s"))
	require.Equal(t, []int64{10, 20}, missed(t, "MISSED ONCE UNTIL 1700000000105").dues("s"))
	f := missed(t, "MISSED SKIP UNTIL 1700000000105")
	require.Equal(t, []int64{10}, f.dues("s"))
	f.want("1", "DBSIZE")
}

// TestMissedTimesAreBounded: of a million missed times a thousand are made up for, in batches.
func TestMissedTimesAreBounded(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "s", "EVERY", "10", "MISSED", "ALL", "ID", "a", "n", "1")
	f.fire(10_000_005, 7)
	require.Len(t, f.dues("s"), mostMadeUp)
	f.want(`[1700010000010 ["n" "1"] ["EVERY" "10" "MISSED" "ALL"]]`, "DELAY.GET", "s", "a")
}

// TestMissedTimesComeInOrder: entries of a stream are added in the order of their times, whichever recurs.
func TestMissedTimesComeInOrder(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "s", "EVERY", "10", "MISSED", "ALL", "ID", "a", "n", "a")
	f.do("DELAY.ADD", "s", "PX", "25", "ID", "b", "n", "b")
	f.do("DELAY.ADD", "s", "EVERY", "15", "MISSED", "ALL", "ID", "c", "n", "c")
	f.do("DELAY.ADD", "s", "EVERY", "40", "ID", "d", "n", "d")
	f.fire(41, 128)
	require.Equal(t, "a c a b c a d a", f.values("s"))
	f.want("3", "DELAY.COUNT", "s")
}

func TestRecurringEntriesAreMovedAndCancelled(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "s", "EVERY", "100", "ID", "a", "n", "1")
	f.want("1", "DELAY.MOVE", "s", "a", "PX", "130") // later: the rule goes on behind it
	f.run(205)
	require.Equal(t, []int64{130, 200}, f.dues("s"))
	f.want("1", "DELAY.MOVE", "s", "a", "PX", "5") // earlier, in place of the time at 300
	f.run(200)
	require.Equal(t, []int64{130, 200, 210, 400}, f.dues("s"))
	f.do("DELAY.ADD", "s", "PX", "95", "ID", "b", "n", "2")
	f.want("1", "DELAY.MOVE", "s", "a", "PX", "95") // behind b, so its place changes
	f.want(`[["b" 1700000000500 ["n" "2"]] ["a" 1700000000500 ["n" "1"] ["EVERY" "100" "MISSED" "ONCE"]]]`, "DELAY.LIST", "s")
	f.want("1", "DELAY.CANCEL", "s", "b")
	f.want("1", "DELAY.CANCEL", "s", "a")
	f.run(200)
	require.Len(t, f.dues("s"), 4)
	f.want("1", "DBSIZE")
}

// TestRulesWaitForTheirKeys: an obstacle delays a recurring entry. Its next time is that after the obstacle.
func TestRulesWaitForTheirKeys(t *testing.T) {
	f := newDelays(t)
	f.do("DELAY.ADD", "s", "EVERY", "300", "ID", "a", "n", "1")
	f.do("SET", "s", "text")
	f.fire(300, 10)
	f.do("DEL", "s")
	f.fire(retryDelayMS, 10)
	f.fire(200, 10)
	require.Equal(t, []int64{300, 1500}, f.dues("s"))

	f.do("FLUSHALL")
	f.do("DELAY.ADD", "s", "CRON", "* * * * * *", "ID", "a", "n", "1")
	value := strings.Replace(f.do("HGET", "{s}:delayed:entries", "a").Str, "3:UTC", "3:XXX", 1) // a zone that another version had
	f.do("HSET", "{s}:delayed:entries", "a", value)
	f.fire(5000, 10)
	f.want("1", "DELAY.COUNT", "s")
	f.want("0", "EXISTS", "s")
	f.do("HSET", "{s}:delayed:entries", "a", strings.Replace(value, "6:MISSED", "6:MASSED", 1)) // no rule at all
	f.fire(retryDelayMS, 10)
	f.want("0", "EXISTS", "{s}:delayed", "s")
}
