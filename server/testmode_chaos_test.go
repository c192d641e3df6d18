package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/testmode"
	"lockserver/tests/testkit"
)

// strikes returns what TEST.CHAOS LIST shows.
func strikes(c *testkit.Client) (list []string) {
	for _, e := range c.Do("TEST.CHAOS", "LIST").Elems {
		list = append(list, e.Str)
	}
	return list
}

// TestChaosRepeats: the same seed strikes the same calls of a command, whatever other commands there are.
func TestChaosRepeats(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{Directives: map[string]string{"test-mode": "yes"}})
	own, other := client(t, srv), client(t, srv)
	run := func(seed string, others int) []string {
		require.Equal(t, "+OK", own.Do("TEST.CHAOS", "SEED", seed, "RATE", "0.3", "KINDS", "delay", "MAXDELAY", "1").String())
		for range 50 {
			other.Do("INCR", "n")
			for range others {
				other.Do("ECHO", "a") // what a library sends on its own is neither counted nor struck
				own.Do("GET", "n")
			}
		}
		list := strikes(own)
		require.Equal(t, int64(len(list)), own.Do("TEST.CHAOS", "OFF").Int)
		return list
	}
	first := run("7", 0)
	require.Greater(t, len(first), 5)
	require.Less(t, len(first), 30)
	require.Equal(t, first, run("7", 2))
	require.NotEqual(t, first, run("8", 0))
	require.Empty(t, own.Do("TEST.CHAOS", "REPLAY", first[0]).Elems)
	for range 50 {
		other.Do("INCR", "n")
	}
	require.Equal(t, first[:1], strikes(own))
	require.Equal(t, "+OK", own.Do("TEST.RESET").String())
	require.Empty(t, strikes(own))
}

// TestChaosStrikes: what each kind does, as a replay.
func TestChaosStrikes(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{Directives: map[string]string{"test-mode": "yes"}})
	own := client(t, srv)
	replay := func(strike string) *testkit.Client {
		require.Equal(t, "+OK", own.Do("TEST.CHAOS", "REPLAY", strike).String())
		return client(t, srv)
	}
	gone := func(c *testkit.Client) {
		_, err := c.Next()
		require.Error(t, err)
	}

	c := replay("incr#2:dropbefore")
	require.EqualValues(t, 1, c.Do("INCR", "n").Int)
	c.Send("INCR", "n")
	gone(c)
	c = replay("INCR#1:dropafter")
	c.Send("INCR", "n")
	gone(c)
	require.Equal(t, "2", own.Do("GET", "n").Str)

	require.Equal(t, "+OK", own.Do("SCRIPT", "FLUSH").String())
	sha := own.Do("SCRIPT", "LOAD", "return 1").Str
	c = replay("incr#1:restart")
	waiting := client(t, srv)
	waiting.Send("BLPOP", "empty", "0")
	require.Eventually(t, func() bool { return strings.Contains(own.Do("CLIENT", "LIST").Str, "cmd=blpop") }, time.Minute, time.Millisecond)
	c.Send("INCR", "n")
	gone(c)
	gone(waiting)
	require.Equal(t, "2", own.Do("GET", "n").Str)
	require.EqualValues(t, 0, own.Do("SCRIPT", "EXISTS", sha).Elems[0].Int)

	c = replay("get#1:expire:door")
	c.Do("LOCK", "door", "alice")
	c.Do("LOCK", "gate", "alice")
	attached := client(t, srv)
	attached.Do("HELLO", "3")
	attached.Do("LOCK.ATTACH", "alice")
	bob := client(t, srv)
	bob.Send("LOCK", "door", "bob", "WAIT", "60000")
	require.Eventually(t, func() bool { return len(own.Do("LOCK.WAITERS").Elems) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "2", c.Do("GET", "n").Str, "the command is run")
	v, err := bob.Next()
	require.NoError(t, err)
	require.Positive(t, v.Int)
	require.EqualValues(t, 1, c.Do("UNLOCK", "gate", "alice").Int, "the other lock is still held")
	push, err := attached.Next()
	require.NoError(t, err)
	require.Regexp(t, "lock-lost.*door.*expired", push.String())
	require.Equal(t, []string{"get#1:expire:door"}, strikes(own))

	c = replay("get#1:expire:nothing")
	require.Equal(t, "2", c.Do("GET", "n").Str)
	require.Empty(t, strikes(own), "where no lock is held nothing ends")
}

// TestChaosFailover: the next member leads, and the client's connection is lost.
func TestChaosFailover(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{Directives: map[string]string{"test-mode": "yes", "test-topology": testmode.Sentinel}})
	own := client(t, srv)
	require.Equal(t, "+OK", own.Do("TEST.CHAOS", "REPLAY", "set#1:failover").String())
	before := own.Do("SENTINEL", "get-master-addr-by-name", "mymaster").String()
	c := client(t, srv)
	c.Send("SET", "a", "1")
	_, err := c.Next()
	require.Error(t, err)
	require.NotEqual(t, before, own.Do("SENTINEL", "get-master-addr-by-name", "mymaster").String())
	require.Equal(t, []string{"set#1:failover"}, strikes(own))
}

// TestChaosErrors: bad input gets an error, and strikes nothing.
func TestChaosErrors(t *testing.T) {
	t.Parallel()
	srv := start(t, Options{Directives: map[string]string{"test-mode": "yes"}})
	c := client(t, srv)
	for words, want := range map[string]string{
		"SEED 1":                                  "wrong number of arguments",
		"SEED 1 RATE":                             "wrong number of arguments",
		"SEED 1 RATE 1 2":                         "syntax error",
		"SEED 1 RATE 1 KINDS":                     "syntax error",
		"SEED x RATE 1":                           "not an integer",
		"SEED 1 RATE x":                           "not a valid float",
		"SEED 1 RATE 1.1":                         "probability",
		"SEED 1 RATE -0.1":                        "probability",
		"SEED 1 RATE nan":                         "valid float",
		"SEED 1 RATE 1 KINDS close":               "kinds are some of",
		"SEED 1 RATE 1 KINDS delay,":              "kinds are some of",
		"SEED 1 RATE 1 KINDS failover":            "there is no group",
		"SEED 1 RATE 1 MAXDELAY 0":                "positive number",
		"SEED 1 RATE 1 MAXDELAY x":                "positive number",
		"REPLAY get":                              "a strike is",
		"REPLAY get#0:delay:1":                    "a strike is",
		"REPLAY get#1:delay":                      "a strike is",
		"REPLAY get#1:delay:-1":                   "a strike is",
		"REPLAY get#1:expire":                     "a strike is",
		"REPLAY get#1:dropafter:1":                "a strike is",
		"REPLAY get#1:error":                      "a strike is",
		"REPLAY get#1:dropafter nosuch#1:delay:1": "no such command",
		"REPLAY get#1:failover":                   "there is no group",
		"REPLAY":                                  "wrong number of arguments",
	} {
		require.Contains(t, c.Do(append([]string{"TEST.CHAOS"}, strings.Fields(words)...)...).Str, want, words)
	}
	require.False(t, srv.Chaos().On())
	require.EqualValues(t, 0, c.Do("TEST.CHAOS", "OFF").Int)
}
