package server

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
)

// attempt is a line of the audit log.
type attempt struct {
	Event, User, Command, Call, Reason, Object, Context, By string
	More                                                    int
}

// attemptsLog is a server with an audit log, and a function that returns the lines since its last call.
func attemptsLog(t *testing.T) (srv *instance, take func() []attempt) {
	t.Helper()
	var text logText
	srv = startWith(t, Options{Audit: slog.New(slog.NewJSONHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.MessageKey {
			a.Key = "event"
		}
		return a
	}}))}, func(*config.Config) {})
	return srv, func() (lines []attempt) {
		taken := text.take()
		require.NotContains(t, taken, "hush")
		for line := range strings.Lines(taken) {
			var a attempt
			require.NoError(t, json.Unmarshal([]byte(line), &a), line)
			lines = append(lines, a)
		}
		return lines
	}
}

// TestAuditOfGrants: who granted which rules is in the log, without passwords.
func TestAuditOfGrants(t *testing.T) {
	srv, take := attemptsLog(t)
	c := client(t, srv)
	hash := strings.Repeat("a", 64)
	for _, rules := range []struct{ given, shown string }{
		{"on >hush1 ~app:* +@read", "on >(redacted) ~app:* +@read"},
		{"<hush1 nopass +@all", "<(redacted) nopass +@all"},
		{"#" + hash + " (+set ~a &ch)", "#(redacted) (+set ~a &ch)"},
		{"!" + hash + " ( -@all ~b ) resetkeys", "!(redacted) ( -@all ~b ) resetkeys"},
		{strings.Repeat("+get ", 200) + "+flushall", strings.Repeat("+get ", 200) + "+flushall"},
	} {
		reply := c.Do(append([]string{"ACL", "SETUSER", "bob"}, strings.Fields(rules.given)...)...)
		require.False(t, reply.IsError(), "%s: %s", rules.given, reply)
		lines := take()
		require.Len(t, lines, 1)
		require.Equal(t, attempt{Event: "command", User: "default", Command: "acl|setuser", Call: "ACL SETUSER bob " + rules.shown}, lines[0])
	}
}

// TestAuditOfAttempts: a successful login, a failed login and a command that ACL refuses have one line
// each.
func TestAuditOfAttempts(t *testing.T) {
	srv, take := attemptsLog(t)
	admin, c := client(t, srv), client(t, srv)
	admin.Do("ACL", "SETUSER", "bob", "on", ">hush", "~app:*", "&app:*", "+@all", "-flushall", "-select")
	take()
	c.Do("AUTH", "bob", "wrong")
	require.Equal(t, []attempt{{Event: "failed-login", User: "bob"}}, take())
	c.Do("HELLO", "3", "AUTH", "bob", "hush")
	require.Equal(t, []attempt{{Event: "login", User: "bob", By: "password"}}, take())
	refused := func(command, reason, object, context string) attempt {
		return attempt{Event: "refused", User: "bob", Command: command, Reason: reason, Object: object, Context: context}
	}
	c.Do("FLUSHALL")
	require.Equal(t, []attempt{refused("flushall", "command", "", "toplevel")}, take())
	c.Do("GET", "other")
	require.Equal(t, []attempt{refused("get", "key", "other", "toplevel")}, take())
	c.Do("PUBLISH", "news", "text")
	require.Equal(t, []attempt{refused("publish", "channel", "news", "toplevel")}, take())
	c.Do("EVAL", "redis.pcall('set', 'third', 'hush')", "0")
	require.Equal(t, []attempt{refused("set", "key", "third", "lua")}, take())
	c.Do("MULTI")
	c.Do("INCR", "app:1")
	admin.Do("ACL", "SETUSER", "bob", "-incr")
	take()
	c.Do("EXEC")
	require.Equal(t, []attempt{refused("incr", "command", "", "multi")}, take())
	c.Do("ACL", "DRYRUN", "bob", "flushall")
	require.Empty(t, take(), "nothing was tried")
}

// TestAuditIsBounded: attempts that are alike within a second share lines, which count each of them.
func TestAuditIsBounded(t *testing.T) {
	srv, take := attemptsLog(t)
	admin, c := client(t, srv), client(t, srv)
	admin.Do("ACL", "SETUSER", "bob", "on", ">hush", "+@all", "~app:*", "-flushall")
	c.Do("AUTH", "bob", "hush")
	take()
	const each = 20_000
	begun := time.Now()
	c.Do("EVAL", "for i = 1, 20000 do redis.pcall('get', 'key' .. i) redis.pcall('flushall') end", "0")
	for range 50 {
		c.Do("AUTH", "bob", "hush")
	}
	counts, lines := map[string]int{}, 0
	require.Eventually(t, func() bool {
		for _, line := range take() {
			lines++
			counts[strings.TrimSpace(line.Event+" "+line.Command)] += max(line.More, 1)
		}
		return counts["refused get"] >= each && counts["refused flushall"] >= each && counts["login"] >= 50
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, map[string]int{"refused get": each, "refused flushall": each, "login": 50}, counts)
	require.LessOrEqual(t, lines, 2*3*(int(time.Since(begun).Seconds())+2))
}
