package effects

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/store"
	"lockserver/tests/shrink"
	"lockserver/tests/testkit"
)

// step is a command of a client, or an advance of the clock.
type step struct {
	client string
	args   []string // nil means that the client reconnected
	passes time.Duration
}

func (s step) String() string {
	switch {
	case s.passes > 0:
		return fmt.Sprintf("%v pass", s.passes)
	case s.args == nil:
		return s.client + ": a new connection"
	}
	line := testkit.Line(s.args)
	if len(line) > 300 {
		line = line[:300] + "..."
	}
	return s.client + ": " + line
}

const (
	// lookAgain is how long the test waits for a reply before it asks the server whether the command waits.
	lookAgain = time.Millisecond
	// patience is the longest time for a command that does not wait.
	patience = time.Minute
	// shrinkTime is the longest time for playing steps again to find those that a failure needs.
	shrinkTime = 30 * time.Second
	// effectsShown is the number of the last effects on a key that are shown if the steps do not fail again.
	effectsShown = 10
)

// notInOrder is reported if the steps do not fail when they are played one after the other.
const notInOrder = "do not show it when they are played in order"

// stage is a server on which steps are played one after the other.
type stage struct {
	t       *testing.T
	srv     *server.Server
	clock   *server.ManualClock
	watch   *testkit.Client
	clients map[string]*testkit.Client
	ids     map[string]string // of the clients' connections
	waiting map[string]bool   // clients without a reply yet
}

// again plays steps on a new server and returns its data and its effects.
func (r *recording) again(t *testing.T, steps []step) (testkit.Dataset, []store.Effect) {
	journal := &collector{loses: r.loses}
	st := &stage{t: t, clock: server.NewManualClock(start()),
		clients: map[string]*testkit.Client{}, ids: map[string]string{}, waiting: map[string]bool{}}
	srv, err := server.New(server.Options{Clock: st.clock, Seed: r.seed | 1, Journal: journal})
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	defer func() { require.NoError(t, srv.Close()) }()
	st.srv, st.watch = srv, testkit.Dial(t, srv.Dial)
	defer st.watch.Close()
	for _, s := range steps {
		st.play(s)
	}
	for client := range st.clients {
		st.await(client)
	}
	st.clock.Advance(0) // now all that is due has happened
	c := testkit.Dial(t, srv.Dial)
	defer c.Close()
	data := testkit.ReadDataset(c)
	for _, c := range st.clients {
		c.Close()
	}
	return data, journal.effects
}

func (st *stage) play(s step) {
	if s.passes > 0 {
		st.clock.Advance(s.passes)
		return
	}
	if s.args == nil && st.clients[s.client] != nil {
		st.clients[s.client].Close()
		delete(st.clients, s.client)
		st.waiting[s.client] = false
		return
	}
	st.await(s.client)
	if st.clients[s.client] == nil {
		c := testkit.Dial(st.t, st.srv.Dial)
		st.clients[s.client], st.ids[s.client] = c, c.Do("CLIENT", "ID").String()
	}
	if s.args == nil {
		return
	}
	st.clients[s.client].Send(s.args...)
	st.waiting[s.client] = !st.answered(s.client)
}

// answered waits until a client has its reply (true) or waits in a command (false).
func (st *stage) answered(client string) bool {
	for end := time.Now().Add(patience); ; {
		if _, got := st.clients[client].ReceiveWithin(lookAgain); got {
			return true
		}
		list := st.watch.Do("CLIENT", "LIST", "ID", st.ids[client]).Str
		_, flags, _ := strings.Cut(list, " flags=")
		if strings.HasPrefix(flags, "b") {
			return false
		}
		require.True(st.t, time.Now().Before(end), "%s has no reply and does not wait: %s", client, list)
	}
}

// await advances the clock until a client has its reply. All waits of the workload have an end.
func (st *stage) await(client string) {
	for n := 0; st.waiting[client]; n++ {
		require.Less(st.t, n, 1000, "%s waits for ever", client)
		st.clock.Advance(10 * time.Millisecond)
		st.waiting[client] = !st.answered(client)
	}
}

// explain finds the few steps for which the effects are incomplete. The clients ran at the same time, so in
// order the steps may do something else and not fail. Then it shows the last effects on a key that differs.
func (r *recording) explain(t *testing.T, diff []string, differ differs, limits shrink.Limits) string {
	var smallest []string
	fails := func(part []step) bool {
		data, effects := r.again(t, part)
		again := differ(data, effects)
		if len(again) > 0 {
			smallest = again
		}
		return len(again) > 0
	}
	result := shrink.Search(r.steps, fails, limits)
	var b strings.Builder
	if !result.Reproduced {
		fmt.Fprintf(&b, "%s\nThe %d steps %s. The last effects that name one of these keys:\n%s",
			strings.Join(diff[:min(len(diff), effectsShown)], "\n"), len(r.steps), notInOrder, r.lastOn(diff))
		return b.String()
	}
	fmt.Fprintf(&b, "%s:\n", result)
	for _, s := range result.Steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	fmt.Fprintf(&b, "and then, of what clients did and what the effects did:\n")
	for _, line := range smallest {
		fmt.Fprintf(&b, "  %.500s\n", line)
	}
	return b.String()
}

// lastOn returns the last effects on the keys that differ.
func (r *recording) lastOn(diff []string) string {
	var about []string
	for _, e := range r.effects {
		if len(e.Args) > 1 && strings.Contains(strings.Join(diff, " "), fmt.Sprintf("%q", e.Args[1])) {
			about = append(about, fmt.Sprintf("  db %d: %.300s\n", e.DB, testkit.Line(words(e))))
		}
	}
	return strings.Join(about[max(0, len(about)-effectsShown):], "")
}

// TestALossIsShrunk plants a fault: effects that remove a deadline are lost. The report has the few of
// thousands of commands that show the fault.
func TestALossIsShrunk(t *testing.T) {
	t.Parallel()
	differ := here(t)
	loses := func(e store.Effect) bool { return string(e.Args[0]) == "PERSIST" }
	for seed := range uint64(rounds) {
		r := record(t, seed, true, loses)
		diff := differ(r.data, r.effects)
		if len(diff) == 0 { // the last command was a flush
			continue
		}
		text := r.explain(t, diff, differ, shrink.Limits{Time: 10 * time.Minute}) // the number of tries is limited, too
		t.Log(text)
		if strings.Contains(text, notInOrder) { // the order of goroutines has hidden it
			continue
		}
		require.LessOrEqual(t, strings.Count(text, "\n"), 12)
		require.Contains(t, text, "PERSIST")
		return
	}
	require.Fail(t, "no PERSIST was missed")
}
