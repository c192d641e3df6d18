package server

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestNotifyStoppedClient: a client stands still for a minute, and its connection lives. It neither reads nor
// answers. Its fixed lease ends, and its grants pass on. At each second a lock has one holder. When it goes
// on, it hears what has become of all its locks, and the server refuses what it still believes in.
func TestNotifyStoppedClient(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	onEveryTransport(t, Options{Clock: clock, Directives: map[string]string{}}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		stopped, holder, next := testkit.Dial(t, dial), client(t, srv), client(t, srv)
		stopped.Hello(3)
		next.Hello(3)
		stopped.Do("LOCK.ATTACH", "PREFIX", "stopped:")
		fixed := stopped.Do("LOCK", "fixed", "stopped:1", "PX", "30000").String()
		require.Positive(t, stopped.Do("LOCK", "renewed", "stopped:2").Int)
		for _, key := range []string{"granted", "wanted"} {
			require.Positive(t, holder.Do("LOCK", key, "holder").Int)
			require.Equal(t, "+QUEUED", stopped.Do("LOCK", key, "stopped:"+key, "WAIT", "0", "NOTIFY").String())
		}
		for _, key := range []string{"fixed", "renewed", "granted", "wanted"} {
			require.Equal(t, "+QUEUED", next.Do("LOCK", key, "next", "WAIT", "0", "NOTIFY").String())
		}

		holder.Do("UNLOCK", "granted", "holder") // and from here on it stands still
		owners := map[string][]string{}
		for second := range 60 {
			if second == 35 {
				holder.Do("UNLOCK", "wanted", "holder")
			}
			clock.Advance(time.Second)
			for _, key := range []string{"fixed", "renewed", "granted", "wanted"} {
				fields := holder.Do("HGETALL", key).Elems
				held := ""
				for i := 0; i < len(fields); i += 2 {
					if fields[i].Str[0] != '$' {
						require.Empty(t, held, "%s has two holders: %v", key, fields)
						held = fields[i].Str
					}
				}
				require.NotEmpty(t, held, key)
				if last := owners[key]; len(last) == 0 || last[len(last)-1] != held {
					owners[key] = append(last, held)
				}
				if held == "next" {
					holder.Do("RENEW", key, "next") // confirms
				}
			}
		}
		require.Equal(t, map[string][]string{
			"fixed":   {"stopped:1", "next"},
			"renewed": {"stopped:2"}, // its connection lives: the server renews it
			"granted": {"stopped:granted", "next"},
			"wanted":  {"holder", "stopped:wanted", "next"},
		}, owners)

		heard, tokens := map[string]bool{}, map[string]string{}
		for range 5 { // now it goes on
			push := stopped.Receive()
			if push.Elems[0].Str == "lock-granted" {
				tokens[push.Elems[1].Str] = push.Elems[2].String()
				push.Elems[2].Int = 0
			}
			heard[push.String()] = true
		}
		require.Equal(t, map[string]bool{
			`>["lock-granted" "granted" 0 "stopped:granted"]`:             true,
			`>["lock-refused" "granted" "unconfirmed" "stopped:granted"]`: true,
			`>["lock-granted" "wanted" 0 "stopped:wanted"]`:               true,
			`>["lock-refused" "wanted" "unconfirmed" "stopped:wanted"]`:   true,
			`>["lock-lost" "fixed" ` + fixed + ` "expired" "stopped:1"]`:  true,
		}, heard)
		for key, token := range tokens {
			require.Zero(t, stopped.Do("LOCK.CONFIRM", key, "stopped:"+key, token).Int)
			require.Contains(t, stopped.Do("GUARD", key, token, "SET", "data", "x").String(), "-", key)
		}
		require.Zero(t, stopped.Do("RENEW", "fixed", "stopped:1", "TOKEN", fixed).Int)
		require.Contains(t, stopped.Do("GUARD", "fixed", fixed, "SET", "data", "x").String(), "-")
		require.Zero(t, stopped.Do("EXISTS", "data").Int)
		require.EqualValues(t, 1, stopped.Do("UNLOCK", "renewed", "stopped:2").Int)
		require.Equal(t, "lock-granted", next.Receive().Elems[0].Str)
	})
}
