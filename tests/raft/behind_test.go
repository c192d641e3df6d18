package raft

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/server/raft/engine"
)

// logs keeps the log lines of each member.
type logs struct {
	mu sync.Mutex
	of map[string]*bytes.Buffer
}

// capture makes the server of a member write its log here.
func (l *logs) capture(eo *engine.Options, so *server.Options) {
	so.Log = slog.New(slog.NewTextHandler(writerFor{l, eo.ID}, nil))
}

type writerFor struct {
	l  *logs
	id string
}

func (w writerFor) Write(b []byte) (int, error) {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	if w.l.of[w.id] == nil {
		w.l.of[w.id] = &bytes.Buffer{}
	}
	return w.l.of[w.id].Write(b)
}

// count returns how often a member has logged a line.
func (l *logs) count(m *member, what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.of[m.peer.ID]; b != nil {
		return bytes.Count(b.Bytes(), []byte(what))
	}
	return 0
}

// TestAClockThatIsWrong: a member with a clock that is behind logs that. If the leader's clock is ahead, the
// other members log it. A member logs it once a minute, and never while all clocks are right.
func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	const line = "this machine's clock is behind that of the member that leads"
	l := &logs{of: map[string]*bytes.Buffer{}}
	g := newGroup(t, 3, l.capture)
	first := g.leader()
	term := first.number("raft_term")
	others := g.others(first)
	restart := func(m *member, skewUS int64) {
		m.stop()
		m.clock.byUS.Store(skewUS)
		m.start()
	}
	restart(others[0], -3_600_000_000)
	restart(others[1], 3_600_000_000)
	for range 5 {
		require.Equal(t, "OK", g.do("SET", "x", "1").Str)
	}
	eventually(t, "the one behind says so", func() bool { return l.count(others[0], line) == 1 })
	g.same()
	quiet := l.count(first, line)+l.count(others[1], line) == 0
	if first.number("raft_term") == term { // on a slow machine the one ahead may lead already
		require.True(t, quiet, "nobody sees it, and it does no harm")
	}
	require.Positive(t, g.do("LOCK", "l", "a", "PX", "20000").Int)
	eventually(t, "the one ahead leads", func() bool {
		g.leader().ask("RAFT", "TRANSFER", others[1].peer.ID)
		return others[1].ask("SET", "x", "2").Str == "OK"
	})
	eventually(t, "those with a right clock say so", func() bool { return l.count(first, line) == 1 })
	left := others[1].ask("PTTL", "l").Int
	require.Greater(t, left, int64(15_000), "no lease ends early for it")
	require.LessOrEqual(t, left, int64(40_000+3_600_000))
	g.same()
}

// TestTimeOfTheGroupIsAhead: the clock of a member that led was ahead, and all clocks are right now. No clock
// is blamed: the log says that the group's time is ahead, and that nothing has to be done. The server
// has not been up for longer.
func TestTimeOfTheGroupIsAhead(t *testing.T) {
	t.Parallel()
	const ahead = "the group's time is ahead of the clock of the member that leads"
	l := &logs{of: map[string]*bytes.Buffer{}}
	g := newGroup(t, 3, l.capture)
	first := g.leader()
	wrong := g.others(first)[0]
	wrong.stop()
	wrong.clock.byUS.Store(time.Hour.Microseconds())
	wrong.start()
	lead := func(m *member) {
		t.Helper()
		eventually(t, "it leads", func() bool {
			g.leader().ask("RAFT", "TRANSFER", m.peer.ID)
			return m.ask("SET", "x", "1").Str == "OK"
		})
	}
	lead(wrong)
	wrong.clock.byUS.Store(0)
	lead(first)
	behind := func() (n int) {
		for _, m := range g.all {
			n += l.count(m, "clock is behind")
		}
		return n
	}
	for _, m := range g.all {
		eventually(t, "each member says it", func() bool { return l.count(m, ahead) > 0 })
		eventually(t, "its fields are right", func() bool { return m.number("raft_time_ahead_ms") > 3_000_000 && m.field("raft_clock_skew_ms") == "0" })
	}
	said := behind() // while the wrong clock led
	for range 5 {
		require.Equal(t, "OK", g.do("SET", "x", "2").Str)
	}
	g.same()
	require.Equal(t, said, behind())
	for _, m := range g.all {
		eventually(t, "no alarm blames a clock", func() bool { return !strings.Contains(m.field("raft_alarm"), "clock") })
		up, err := strconv.Atoi(m.info("server", "uptime_in_seconds"))
		require.NoError(t, err)
		require.Less(t, up, 3000)
	}
}
