package console

import (
	"bytes"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/server"
)

// TestTimeline: holds and waits are bars at their times, a row for each owner, the latest first.
func TestTimeline(t *testing.T) {
	const now = 1_000_000_500
	ms := func(f float64) *float64 { return &f }
	h := &checkhistory.History{SinceMS: now - 50_000, Reason: "start", Lines: []checkhistory.Line{
		{TimeMS: now - 40_000, Event: "granted", Key: "k", Owner: "a", Token: 1},
		{TimeMS: now - 30_000, Event: "queued", Key: "k", Owner: "b"},
		{TimeMS: now - 20_000, Event: "expired", Key: "k", Owner: "a", Token: 1, HeldMS: ms(20_000)},
		{TimeMS: now - 20_000, Event: "granted", Key: "k", Owner: "b", Token: 2, WaitedMS: ms(10_000)},
	}}
	line := drawTimeline(h, now)
	require.Equal(t, []string{"b", "a"}, []string{line.Rows[0].Owner, line.Rows[1].Owner})
	require.Equal(t, int64(now-40_000), line.FromMS)
	a, wait, hold := line.Rows[1].Bars[0], line.Rows[0].Bars[0], line.Rows[0].Bars[1]
	require.True(t, a.Bad && !a.Wait)
	require.Equal(t, nameWidth, a.X)
	require.True(t, wait.Wait && !wait.Bad)
	require.Equal(t, a.X+a.Width, wait.X+wait.Width)
	require.Equal(t, wait.X+wait.Width, hold.X)
	require.Equal(t, lineWidth-10, hold.X+hold.Width, "it goes on")
	require.Equal(t, "a held for 20s: expired", a.Title)
	require.Len(t, line.Ticks, lineTicks+1)

	empty := drawTimeline(&checkhistory.History{SinceMS: now}, now)
	require.Empty(t, empty.Rows)
	many := &checkhistory.History{}
	for i := range int64(40) {
		many.Lines = append(many.Lines, checkhistory.Line{TimeMS: now - 7_200_000 + i, Event: "granted", Key: "k", Owner: string(rune('A' + i)), Token: i + 1})
	}
	line = drawTimeline(many, now)
	require.Len(t, line.Rows, mostRows)
	require.Equal(t, 40-mostRows, line.Left)
	require.Equal(t, int64(mostSpanMS), line.ToMS-line.FromMS, "an hour at most")
	for _, row := range line.Rows {
		require.GreaterOrEqual(t, row.Bars[0].X, nameWidth)
	}
}

// TestShorten: a name is cut to a width, and letters of Chinese count twice.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": `""`, "abcdef": "abcdef", "abcdefg": "abcde…", "订单锁": "订单锁", "订单锁1": "订单…", "a订单锁": "a订单…", "\x00": `"\x00"`} {
		require.Equal(t, want, shorten(text, 6), text)
	}
}

// TestPageOfLockHasTimeline: of a lock that is held, and of one that is free, as far as the user may see it.
// What a user does is audited.
func TestPageOfLockHasTimeline(t *testing.T) {
	var audit bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&audit, nil))
	w := worldOf(t, server.Options{Audit: log})
	w.console.Audit = log
	w.client.Do("LOCK", "door", "alice", "PX", "60000")
	w.client.Do("LOCK", "free", "<bob>", "PX", "60000")
	w.client.Do("UNLOCK", "free", "<bob>")
	page := w.get("/lock?db=0&key=door").Body.String()
	require.Contains(t, page, "What happened")
	require.Contains(t, page, "alice held for")
	require.Equal(t, 1, strings.Count(page, `class="tick last"`))
	page = w.get("/lock?db=0&key=free").Body.String()
	require.Contains(t, page, "This lock is free")
	require.Contains(t, page, "&lt;bob&gt; held for")
	require.Contains(t, w.get("/lock?db=0&key=never").Body.String(), "No event of the last hour is known")
	w.client.Do("CONFIG", "SET", "lock-history-bytes", "0")
	require.NotContains(t, w.get("/lock?db=0&key=door").Body.String(), "What happened")

	token := w.token(w.get("/lock?db=0&key=door").Body.String())
	w.post("/lock/release?db=0&key=door", url.Values{"token": {token}, "name": {"wrong"}, "lock": {"0"}})
	w.client.Do("ACL", "SETUSER", "u", "on", ">secret", "+@all", "-lock.history", "~*")
	w.logIn("u", "guess")
	w.logIn("u", "secret")
	w.client.Do("CONFIG", "SET", "lock-history-bytes", "4mb")
	require.NotContains(t, w.get("/lock?db=0&key=door").Body.String(), "What happened")
	require.NoError(t, w.srv.Close())
	var lines []string
	for line := range strings.Lines(audit.String()) {
		if !strings.Contains(line, `"msg":"command","command":"config|set"`) && !strings.Contains(line, `"command":"acl|setuser"`) {
			lines = append(lines, line)
		}
	}
	require.Len(t, lines, 3, "one for each attempt: %s", audit.String())
	for i, event := range []string{`"msg":"console-release","user":"default"`, `"msg":"console-failed-login","user":"u"`, `"msg":"console-login","user":"u"`} {
		require.Contains(t, lines[i], event)
	}
	require.NotContains(t, audit.String(), "secret")
	require.NotContains(t, audit.String(), "guess")
}
