package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/checkhistory"
	"lockserver/internal/lockhistory"
	"lockserver/server"
	"lockserver/tests/testkit"
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
	line := drawTimeline(h, now, window{})
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

	empty := drawTimeline(&checkhistory.History{SinceMS: now}, now, window{})
	require.Empty(t, empty.Rows)
	many := &checkhistory.History{}
	for i := range int64(40) {
		many.Lines = append(many.Lines, checkhistory.Line{TimeMS: now - 7_200_000 + i, Event: "granted", Key: "k", Owner: string(rune('A' + i)), Token: i + 1})
	}
	line = drawTimeline(many, now, window{})
	require.Len(t, line.Rows, mostRows)
	require.Equal(t, 40-mostRows, line.Left)
	require.Equal(t, int64(mostSpanMS), line.ToMS-line.FromMS, "an hour at most")
	for _, row := range line.Rows {
		require.GreaterOrEqual(t, row.Bars[0].X, nameWidth)
	}
}

// TestTimelineOfAWindow: a part of the past is drawn, and links lead to the others.
func TestTimelineOfAWindow(t *testing.T) {
	const now = 1_000_000_500
	h := &checkhistory.History{SinceMS: now - 500_000, Lines: []checkhistory.Line{
		{TimeMS: now - 400_000, Event: "granted", Key: "k", Owner: "early", Token: 1},
		{TimeMS: now - 390_000, Event: "released", Key: "k", Owner: "early", Token: 1},
		{TimeMS: now - 100_000, Event: "granted", Key: "k", Owner: "a", Token: 2},
	}}
	at := windowOf(url.Values{"span": {"60000"}, "until": {fmt.Sprint(now - 50_000)}})
	line := drawTimeline(h, now, at)
	require.Equal(t, []int64{now - 110_000, now - 50_000}, []int64{line.FromMS, line.ToMS})
	require.Len(t, line.Rows, 1)
	require.Equal(t, "a", line.Rows[0].Owner)
	require.Equal(t, nameWidth+lineInner/6, line.Rows[0].Bars[0].X)
	line.move("/lock?key=k", at, now)
	links := make(map[string]string)
	for _, m := range line.Moves {
		links[m.Text], links["key "+m.Key] = m.Link, m.Link
		require.Equal(t, m.Text == "1 min", m.Here)
	}
	require.Equal(t, "/lock?key=k&span=60000", links["now"])
	require.Equal(t, fmt.Sprint("/lock?key=k&span=60000&until=", now-80_000), links["key ArrowLeft"])
	require.Equal(t, fmt.Sprint("/lock?key=k&span=60000&until=", now-20_000), links["key ArrowRight"])
	require.Equal(t, fmt.Sprint("/lock?key=k&span=10000&until=", now-50_000), links["key +"])
	require.Equal(t, fmt.Sprint("/lock?key=k&span=300000&until=", now-50_000), links["key -"])
	require.Equal(t, window{SpanMS: mostSpanMS}, windowOf(url.Values{"span": {"99999999999"}, "until": {"-5"}}))
	require.Equal(t, window{SpanMS: leastSpanMS}, windowOf(url.Values{"span": {"1"}, "until": {"x"}}))
}

// TestPermitsOverTime: the curve goes back from the permits now, by each grant, release and loss.
func TestPermitsOverTime(t *testing.T) {
	const now = 1_000_000_000
	h := &checkhistory.History{SinceMS: now - 10_000, Lines: []checkhistory.Line{
		{TimeMS: now - 9_000, Event: "granted", Key: "k", Owner: "a", Token: 1, Permits: 2},
		{TimeMS: now - 8_000, Event: "granted", Reason: "again", Key: "k", Owner: "a", Token: 1, Permits: 1},
		{TimeMS: now - 7_000, Event: "queued", Key: "k", Owner: "b", Permits: 4},
		{TimeMS: now - 6_000, Event: "expired", Key: "k", Owner: "a", Token: 1, Permits: 3},
		{TimeMS: now - 6_000, Event: "granted", Key: "k", Owner: "b", Token: 2, Permits: 4},
	}}
	line := drawTimeline(h, now, window{})
	line.drawPermits(h, 4, 4)
	p := line.Permits
	y := func(n int) int { return p.Foot - n*(permitsHigh-16)/4 }
	var want strings.Builder
	fmt.Fprintf(&want, "M%d %dV%d", line.x(line.ToMS), p.Foot, y(4))
	for _, step := range [][2]int64{{6_000, 0}, {6_000, 3}, {8_000, 2}, {9_000, 0}} {
		fmt.Fprintf(&want, "H%dV%d", line.x(now-step[0]), y(int(step[1])))
	}
	fmt.Fprintf(&want, "H%dV%dZ", line.x(line.FromMS), p.Foot)
	require.Equal(t, want.String(), p.Path)
	require.Equal(t, y(4), p.LimitY)

	// In the past the curve begins with the permits of then, and it ends at a flush.
	h.Lines = slices.Insert(h.Lines, 1, checkhistory.Line{TimeMS: now - 8_500, Event: "lost", Reason: "flushed"})
	line = drawTimeline(h, now, window{SpanMS: 10_000, UntilMS: now - 7_500})
	line.drawPermits(h, 4, 4)
	require.Equal(t, fmt.Sprintf("M%d %dV%dH%dV%dH%dV%dZ", line.x(line.ToMS), p.Foot, y(3), line.x(now-8_000), y(2), line.x(now-8_500), p.Foot), line.Permits.Path)
	line = drawTimeline(h, now, window{SpanMS: 10_000, UntilMS: now - 8_600})
	line.drawPermits(h, 4, 4)
	require.Nil(t, line.Permits, "from before the flush nothing is known")
}

// TestEventsInWords: each event and reason that the server has is said in words.
func TestEventsInWords(t *testing.T) {
	for kind := lockhistory.Queued; kind <= lockhistory.Asked; kind++ {
		require.NotEmpty(t, eventWords[kind.String()], kind.String())
	}
	ms := 2500.0
	e := newEventView(&checkhistory.Line{TimeMS: 1_000, Event: "expired", Owner: "ann", HeldMS: &ms, Permits: 2})
	require.Equal(t, eventView{At: "00:00:01.000", Owner: "ann", Text: "lost it: the lease ended (2 permits) after 2.5 s", Bad: true}, e)
	require.Equal(t, "waited in vain: its time was over", newEventView(&checkhistory.Line{Event: "refused", Reason: "timeout"}).Text)
	require.Equal(t, "did not get it", newEventView(&checkhistory.Line{Event: "refused", Reason: "error"}).Text)
	require.Equal(t, "renamed-twice now", newEventView(&checkhistory.Line{Event: "renamed-twice", Reason: "now"}).Text)
}

// TestWhyInWords: the page says which locks the holder waits for itself, and what a semaphore lacks.
func TestWhyInWords(t *testing.T) {
	w := newWorld(t)
	words := func(key string) string {
		page := w.get("/lock?db=0&key=" + key).Body.String()
		_, why, _ := strings.Cut(page, `<ol class="why">`)
		why, _, _ = strings.Cut(why, "</ol>")
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(why, " ")), " ")
	}
	wait := func(args ...string) {
		require.Equal(t, "+QUEUED", w.client.Do(append(args, "WAIT", "0", "NOTIFY")...).String())
	}
	w.client.Do("CLIENT", "SETNAME", "orders-1")
	w.client.Do("LOCK", "c", "carol")
	w.client.Do("LOCK", "b", "bob<i>", "PX", "600000")
	w.client.Do("LOCK", "a", "ann", "PX", "600000")
	require.Empty(t, words("a"))
	wait("LOCK", "c", "bob<i>")
	wait("LOCK", "b", "ann")
	wait("LOCK", "a", "dave")
	require.Equal(t, "ann has held it for . The lease ends in . ann waits itself for b , which bob&lt;i&gt; has held for . The lease ends in ."+
		" bob&lt;i&gt; waits itself for c , which carol has held for . The server renews the lease as long as the client orders-1 lives.", words("a"))
	w.client.Do("SEM.ACQUIRE", "pool", "ann", "LIMIT", "5", "PERMITS", "3", "PX", "60000")
	wait("SEM.ACQUIRE", "pool", "eve", "PERMITS", "4")
	require.True(t, strings.HasPrefix(words("pool"), "1 owner has 3 of its 5 permits. The first waiter, eve , asks for 4. ann waits itself for b"), words("pool"))
	w.client.Do("ACL", "SETUSER", "u", "on", ">secret", "+lock.list", "+lock.info", "+select", "~*")
	w.logIn("u", "secret")
	require.Equal(t, "ann has held it for . The lease ends in .", words("a"), "LOCK.WAITERS is not for this user")
}

// TestAskingTheHolder: the question reaches the attached clients, if the user may ask and is sure.
func TestAskingTheHolder(t *testing.T) {
	var audit bytes.Buffer
	w := newWorld(t)
	w.console.Audit = slog.New(slog.NewJSONHandler(&audit, nil))
	holder := testkit.Dial(t, w.srv.Dial)
	holder.Do("HELLO", "3")
	holder.Do("LOCK.ATTACH", "ann")
	holder.Do("LOCK", "door", "ann", "PX", "600000")
	page := w.get("/lock?db=0&key=door").Body.String()
	form := url.Values{"token": {w.token(page)}, "reason": {"deploy <now>"}}
	require.Contains(t, w.post("/lock/ask?db=0&key=door", form).Header().Get("Location"), "problem=unsure")
	form.Set("sure", "yes")
	to := w.post("/lock/ask?db=0&key=door", form).Header().Get("Location")
	require.Contains(t, w.get(to).Body.String(), "Asked: 1 attached client got the message")
	require.Contains(t, holder.Receive().String(), "deploy <now>")
	require.Contains(t, w.get(to).Body.String(), "was asked to let go")
	require.Contains(t, audit.String(), `"msg":"console-ask","user":"default"`)
	require.Equal(t, http.StatusForbidden, w.post("/lock/ask?db=0&key=door", url.Values{"sure": {"yes"}}).Code)
	w.client.Do("ACL", "SETUSER", "u", "on", ">secret", "+@all", "-lock.ask", "~*")
	w.logIn("u", "secret")
	page = w.get("/lock?db=0&key=door").Body.String()
	require.NotContains(t, page, "to let go</h2>")
	form.Set("token", w.token(page))
	require.Contains(t, w.post("/lock/ask?db=0&key=door", form).Header().Get("Location"), "problem=unasked")
}

// TestHoldersOfPermits: each holder has its permits, its token, and since when it holds them.
func TestHoldersOfPermits(t *testing.T) {
	w := newWorld(t)
	w.client.Do("SEM.ACQUIRE", "pool", "ann", "LIMIT", "500", "PERMITS", "3", "PX", "60000")
	for i := range waitersOfLock + 20 {
		w.client.Do("SEM.ACQUIRE", "pool", fmt.Sprint("w-", i), "PX", "60000")
	}
	page := w.get("/lock?db=0&key=pool").Body.String()
	_, table, _ := strings.Cut(page, `<table class="rows dense" id="holders">`)
	table, _, _ = strings.Cut(table, "</table>")
	require.Equal(t, waitersOfLock+1, strings.Count(table, "<tr>"))
	require.Equal(t, waitersOfLock, strings.Count(table, "data-since="))
	require.NotContains(t, page, "unknown</span></dd>")
	require.Contains(t, page, `<span class="badge held">121</span>`)
	require.Contains(t, page, "123 of 500 permits", "also those of the holders that are not listed")
	require.Contains(t, page, `<svg id="permits"`)
	require.Contains(t, w.get(fmt.Sprint("/lock?db=0&key=pool&span=60000&until=", w.srv.NowMS())).Body.String(), `<svg id="permits"`)
}

// TestShorten: a name is cut to a width, and letters of Chinese count twice.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": `""`, "abcdef": "abcdef", "abcdefg": "abcde…", "订单锁": "订单锁", "订单锁1": "订单…", "a订单锁": "a订单…", "\x00": `"\x00"`} {
		require.Equal(t, want, shorten(text, 6), text)
	}
}

// TestPageOfLockHasTimeline: a held lock and a free lock have a timeline, if the user may see it. The
// actions of a user are audited.
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
