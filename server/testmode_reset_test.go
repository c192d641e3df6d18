package server

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// These also follow the clock: the key that was used least recently, the time of a slow command, and the
// end of an order's hold.
func TestClockRulesTheRest(t *testing.T) {
	srv := inTestMode(t)
	c := testkit.Dial(t, overPort(srv))
	// The keys are much larger than what connections take, which used_memory shows, too.
	says(t, c, [][2]string{{"TEST.CLOCK FREEZE 1000000000000", "1000000000000"}, {"SETRANGE old 4000000 x", "4000001"},
		{"TEST.CLOCK ADVANCE 60000", "1000000060000"}, {"SETRANGE new 4000000 x", "4000001"}, {"OBJECT IDLETIME old", "60"}, {"OBJECT IDLETIME new", "0"},
		{"TEST.CLOCK ADVANCE 60000", "1000000120000"}, {"STRLEN new" /* is used */, "4000001"}, {"OBJECT IDLETIME old", "120"}, {"OBJECT IDLETIME new", "0"}})
	bound := strconv.FormatInt(infoNumber(t, c, "used_memory")-2_000_000, 10)
	says(t, c, [][2]string{{"CONFIG SET maxmemory-policy allkeys-lru maxmemory " + bound, "+OK"}})
	eventually(t, func() bool { return c.Do("DBSIZE").Int < 2 }, "keys were evicted")
	says(t, c, [][2]string{{"EXISTS new", "1"}, {"CONFIG SET maxmemory 0 slowlog-log-slower-than 0", "+OK"}, {"SLOWLOG RESET", "+OK"}, {"PING", "+PONG"}})
	require.Contains(t, c.Do("SLOWLOG", "GET", "-1").String(), "1000000120")

	says(t, c, [][2]string{{"SECKILL.CREATE shoe STOCK 1 HOLD 60000", "+OK"}, {"SECKILL shoe ann o1", "0"}, {"SECKILL shoe ben o2", "1"},
		{"TEST.CLOCK ADVANCE 59999", "1000000179999"}, {"SECKILL shoe ben o2", "1"}, {"TEST.CLOCK ADVANCE 1", "1000000180000"},
		{"SECKILL.CONFIRM shoe ann o1", "0"}, {"SECKILL shoe ben o2", "0"}, {"SECKILL.CONFIRM shoe ben o2", "1"},
		{"TEST.CLOCK ADVANCE 600000", "1000000780000"}, {"GET seckill:stock:shoe", `"0"`}})
}

// TEST.RESET leaves connections, and what their clients have said when they connected; nothing else.
func TestReset(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{EventLoops: true, Seed: 5, Directives: map[string]string{"test-mode": "yes", "lock-watchdog-timeout": "40000", "requirepass": "first",
		"slowlog-log-slower-than": "60000000"}}) // on a busy machine commands are slow
	dial := func() *testkit.Client {
		c := testkit.Dial(t, overPort(srv))
		require.Equal(t, "+OK", c.Do("AUTH", "first").String())
		return c
	}
	c, other, popper, listener, anonymous := dial(), dial(), dial(), dial(), dial()
	drawn := c.Do("TEST.SEED", "5").String() + draws(c)
	for range 2 { // the second time it is as new
		says(t, c, [][2]string{{"TEST.CLOCK FREEZE 4000000000000", "4000000000000"}, {"SELECT 3", "+OK"}, {"SET a 1", "+OK"}, {"CLIENT SETNAME me", "+OK"},
			{"LOCK door me", "4000000000000000"}, {"LOCK timed me PX 5000", "4000000000000001"}})
		require.Equal(t, `"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"`, c.Do("SCRIPT", "LOAD", "return 1").String())
		require.Equal(t, `"lib"`, c.Do("FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)").String())
		says(t, c, [][2]string{{"CONFIG SET lock-watchdog-timeout 9000 slowlog-log-slower-than 0 requirepass second maxmemory 900mb", "+OK"},
			{"ACL SETUSER eve on nopass ~* &* +@all", "+OK"}, {"ACL SETUSER default -flushall", "+OK"}, {"TEST.FAULT ADD ERROR NO MATCH get", "1"},
			{"INCR n", "1"}, {"WATCH a", "+OK"}, {"CLIENT NO-EVICT on", "+OK"}})
		says(t, other, [][2]string{{"MULTI", "+OK"}, {"SET b 1", "+QUEUED"}})
		says(t, anonymous, [][2]string{{"AUTH eve any", "+OK"}})
		require.Equal(t, "3", listener.Do("HELLO", "3").Elems[5].String())
		says(t, listener, [][2]string{{"SUBSCRIBE news", `>["subscribe" "news" 1]`}})
		popper.Send("BLPOP", "l", "0")
		eventually(t, func() bool { return infoNumber(t, c, "blocked_clients") == 1 }, "it waits")

		says(t, c, [][2]string{{"CLIENT PAUSE 100000 WRITE", "+OK"}, {"TEST.RESET", "+OK"}})
		require.Equal(t, "-UNBLOCKED client unblocked via TEST.RESET", popper.Receive().String())
		says(t, other, [][2]string{{"SET b 1", "+OK"}, {"EXEC", "-ERR EXEC without MULTI"}, {"DBSIZE", "1"}, {"DEL b", "1"}})
		says(t, c, [][2]string{{"TEST.FAULT LIST", "[]"}, {"CLIENT GETNAME", `"me"`}, {"DBSIZE", "0"}, {"GET a", "$nil"}, {"FUNCTION LIST", "[]"},
			{"SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "[0]"}, {"CONFIG GET lock-watchdog-timeout", `["lock-watchdog-timeout" "40000"]`},
			{"CONFIG GET maxmemory", `["maxmemory" "0"]`}, {"CONFIG GET requirepass", `["requirepass" "first"]`}, {"ACL USERS", `["default"]`},
			{"SLOWLOG LEN", "0"}, {"PUBLISH news x", "0"}, {"LOCK.INFO door", "$nil"}, {"FLUSHALL", "+OK"}})
		require.InDelta(t, time.Now().UnixMilli(), c.Do("TEST.CLOCK", "GET").Int, 60_000)
		require.Less(t, infoNumber(t, c, "total_commands_processed"), int64(25))
		_, err := anonymous.Next()
		require.Error(t, err, "its user is gone")
		anonymous = dial()
		require.Equal(t, drawn, "+OK"+draws(c))
		require.Contains(t, c.Do("CLIENT", "INFO").String(), " db=3 ")
		require.Contains(t, listener.Do("CLIENT", "INFO").String(), " resp=3 ")
		says(t, c, [][2]string{{"SET gone 1 PX 1", "+OK"}})
		eventually(t, func() bool { return infoNumber(t, c, "expired_keys") == 1 }, "the clock goes, and what falls due happens")
		c.Do("TEST.RESET")
	}
}

// draws returns the outcomes of chance.
func draws(c *testkit.Client) (drawn string) {
	c.Do("SADD", "s", "a", "b", "c", "d", "e", "f")
	for range 5 {
		drawn += c.Do("SRANDMEMBER", "s", "-3").String()
	}
	c.Do("DEL", "s")
	return drawn
}

// Clients that work while everything is reset, and the clock moves, are answered, and nothing is left over.
func TestResetUnderLoad(t *testing.T) {
	t.Parallel()
	srv := inTestMode(t)
	c := testkit.Dial(t, overPort(srv))
	done := make(chan struct{})
	var workers []chan struct{}
	for _, words := range [][]string{{"LOCK", "k", "me", "WAIT", "5", "ONCE"}, {"BLPOP", "l", "0.001"}, {"SET", "a", "1", "PX", "1"}, {"TEST.CLOCK", "ADVANCE", "10"}, {"TEST.RESET"}} {
		worker, over := testkit.Dial(t, overPort(srv)), make(chan struct{})
		workers = append(workers, over)
		go func() {
			defer close(over)
			for {
				select {
				case <-done:
					return
				default:
					worker.Send(words...)
					worker.Receive()
				}
			}
		}()
	}
	for range 100 {
		require.Equal(t, "+OK", c.Do("TEST.RESET").String())
	}
	close(done)
	for _, over := range workers {
		<-over
	}
	says(t, c, [][2]string{{"TEST.RESET", "+OK"}, {"DBSIZE", "0"}, {"PING", "+PONG"}})
}
