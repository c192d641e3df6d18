package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/stretchr/testify/require"
)

// full returns a sample with more locks and sales than fit on a small terminal.
func full() *Sample {
	s := &Sample{At: time.UnixMilli(1_700_000_000_000), Addr: "127.0.0.1:6379", Version: "0.1.0", Uptime: 90 * time.Minute,
		Clients: 12, MemoryBytes: 5 << 20, Commands: 1000, Stats: Stats{Held: 1_000_000, Waiting: 3, Deadlocks: 1, WaitP50MS: 0.4, WaitMaxMS: 1500}}
	for i := range 5 {
		s.Contended = append(s.Contended, Lock{Key: fmt.Sprint("order:", i), Owner: "worker-with-a-very-long-name-that-no-column-holds", Holds: 1,
			TTLMS: 30000, Waiting: int64(5 - i), Client: &Client{ID: 7, Address: "10.0.0.1:5000", Name: "till"}})
	}
	for i := range 60 {
		s.Held = append(s.Held, Lock{Key: fmt.Sprintf("日本語\x1b[31m:%d", i), Owner: "w", Holds: 2, TTLMS: -1})
	}
	for i := range 15 {
		s.Sales = append(s.Sales, Sale{Voucher: fmt.Sprint(i), State: "open", Stock: 100, Sold: int64(i), Lag: -1})
	}
	return s
}

// shown returns a screen of a given size that has received a sample.
func shown(t *testing.T, width, height int) *screen {
	t.Helper()
	s := newScreen(time.Second, func() (*Sample, error) { return full(), nil }, func(key string) (*Reason, error) {
		return &Reason{Key: key, Lock: &Lock{Key: key, Owner: "w", Holds: 1, TTLMS: 5000}}, nil
	})
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	require.Contains(t, s.View(), "looking")
	s.Update(s.Init()())
	return s
}

func press(s *screen, keys ...string) {
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "down": tea.KeyDown, "up": tea.KeyUp, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown}
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if kind, ok := special[k]; ok {
			msg = tea.KeyMsg{Type: kind}
		}
		_, cmd := s.Update(msg)
		if cmd != nil && s.asked != "" {
			if answer, ok := cmd().(explanation); ok {
				s.Update(answer)
			}
		}
	}
}

// TestNothingLeavesTheScreen: for any size, each line fits, and the screen has as many lines as the terminal.
func TestNothingLeavesTheScreen(t *testing.T) {
	for _, width := range []int{1, 20, 40, 80, 200} {
		for _, height := range []int{1, 8, 24, 100} {
			s := shown(t, width, height)
			for _, keys := range [][]string{nil, {"end"}, {"enter"}, {"esc", "/", "order"}} {
				press(s, keys...)
				lines := strings.Split(s.View(), "\n")
				require.Len(t, lines, height, "%dx%d after %v", width, height, keys)
				for _, l := range lines {
					require.LessOrEqual(t, lipgloss.Width(l), width, "%dx%d after %v: %q", width, height, keys, l)
					require.NotContains(t, l, "\x1b[31m", "a key moves no cursor")
				}
			}
		}
	}
}

func TestKeys(t *testing.T) {
	s := shown(t, 120, 30)
	require.Contains(t, s.View(), "order:0")
	require.Contains(t, s.View(), "1,000,000")
	press(s, "down", "down", "enter")
	require.Contains(t, s.View(), "Why order:2")
	require.Contains(t, s.View(), "order:2 is held by w")
	press(s, "esc", "end")
	require.Equal(t, 64, s.at)
	press(s, "pgdown", "j")
	require.Equal(t, 64, s.at, "there is nothing behind the last")
	press(s, "/", "o", "r", "d", "e", "r", ":", "3", "enter")
	require.Len(t, s.locks(), 1)
	require.Zero(t, s.at)
	press(s, "esc")
	require.Len(t, s.locks(), 65)
	press(s, "/", "q", "enter")
	require.Contains(t, s.View(), "no lock is held", "q is a letter while one types")
	press(s, "enter")
	require.Empty(t, s.asked, "there is no lock to ask about")
}

// TestALookThatFails: a failed look keeps the old sample on the screen, with the error, until a look
// succeeds.
func TestALookThatFails(t *testing.T) {
	s := shown(t, 120, 30)
	_, again := s.Update(looked{nil, errors.New("connection refused")})
	require.NotNil(t, again, "it looks on")
	require.Contains(t, s.View(), "connection refused")
	require.Contains(t, s.View(), "order:0")
	press(s, " ")
	s.Update(looked{&Sample{At: time.Now()}, nil})
	require.Contains(t, s.View(), "paused")
	require.Contains(t, s.View(), "order:0", "it is the picture from before the pause")
	press(s, " ")
	s.Update(looked{&Sample{At: time.Now()}, nil})
	require.Contains(t, s.View(), "no lock is held")
}

// TestTopOnce prints one look at a server, without a terminal's codes.
func TestTopOnce(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "order:1", "alice")
	w.wait(t, "order:1", "bob", "0")
	w.Do("SECKILL.CREATE", "summer", "STOCK", "50")
	var out strings.Builder
	require.NoError(t, w.seen.TopOnce(t.Context(), &out, 10*time.Millisecond))
	require.NotContains(t, out.String(), "\x1b")
	require.Regexp(t, `(?m)^order:1 +alice +\S+ +1 +1 +[12]\d\.\ds$`, out.String())
	require.Regexp(t, `(?m)^summer +open +50 +0 +0 +0 +$`, out.String())
}

// TestALatchIsShown: while clients wait for it, a latch is in the lists and in the reason.
func TestALatchIsShown(t *testing.T) {
	w := newWorld(t)
	w.Do("LATCH.SET", "batch:7", "3")
	w.Do("LOCK", "order:1", "alice")
	waits := client(t, w.srv)
	waits.Do("CLIENT", "SETNAME", "coordinator")
	waits.Send("LATCH.WAIT", "batch:7", "WAIT", "0")
	require.Eventually(t, func() bool { return len(w.Do("LOCK.WAITERS").Elems) == 1 }, 30*time.Second, time.Millisecond)
	var top, list, asJSON, why strings.Builder
	require.NoError(t, w.seen.TopOnce(t.Context(), &top, 10*time.Millisecond))
	require.Regexp(t, `(?m)^batch:7 +\(latch\) +3 +1 +no end$`, top.String())
	require.Regexp(t, `(?m)^order:1 +alice `, top.String())
	require.NoError(t, w.seen.PrintLocks(t.Context(), &list, Filter{}, false))
	require.Regexp(t, `(?m)^batch:7 +\(latch\) +3 +0 +without end$`, list.String())
	require.NoError(t, w.seen.PrintLocks(t.Context(), &asJSON, Filter{Match: "batch:*"}, true))
	require.JSONEq(t, `{"key":"batch:7","owner":"","holds":3,"token":0,"ttl_ms":-1,"latch":true}`, asJSON.String())
	reason, err := w.seen.Why("batch:7")
	require.NoError(t, err)
	reason.Print(&why)
	require.Regexp(t, `^batch:7 is a latch, its count is 3\n  waiting   1\n     1\. a client, for \S+, without limit, coordinator at `, why.String())
	require.NotContains(t, why.String(), "lease")
}

// TestTop runs `top` on a terminal: it starts, draws, and ends at the user's request.
func TestTop(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "order:1", "alice")
	keys, terminal := newPipe(), newPipe()
	over := make(chan error, 1)
	go func() { over <- w.seen.Top(t.Context(), keys, terminal, 10*time.Millisecond) }()
	require.Eventually(t, func() bool { return strings.Contains(terminal.String(), "\x1b[?1049h") }, 30*time.Second, time.Millisecond)
	keys.write("q")
	require.NoError(t, <-over)
	require.Contains(t, terminal.String(), "\x1b[?1049l", "it gives the screen back")
}

// TestTopOfNotify: a wait that blocks no connection is counted as a waiter of its lock.
func TestTopOfNotify(t *testing.T) {
	w := newWorld(t)
	w.Do("LOCK", "order:1", "alice")
	require.Equal(t, "+QUEUED", client(t, w.srv).Do("LOCK", "order:1", "bob", "WAIT", "0", "NOTIFY").String())
	var out strings.Builder
	require.NoError(t, w.seen.TopOnce(t.Context(), &out, 10*time.Millisecond))
	require.Regexp(t, `(?m)^order:1 +alice +\S+ +1 +1 +[12]\d\.\ds$`, out.String())
}
