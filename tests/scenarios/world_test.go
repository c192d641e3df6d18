//go:build scenarios

package scenarios

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// world holds the servers and agents of a scenario.
type world struct {
	testing.TB
	agents []*agent
	srv    *testkit.Process // the server, or nil if there are several
	port   string
	ways   map[string]*proxy          // by client
	ops    map[string]*testkit.Client // an operator for each client
	h      History

	mu      sync.Mutex
	results map[string]string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, ways: make(map[string]*proxy), ops: make(map[string]*testkit.Client), results: make(map[string]string)}
	for _, client := range chosen() {
		w.agents = append(w.agents, newAgent(t, client))
	}
	t.Cleanup(func() {
		if t.Failed() {
			w.save()
		}
	})
	return w
}

// save writes the history of a failed scenario into the directory in HISTORY.
func (w *world) save() {
	dir := os.Getenv("HISTORY")
	if dir == "" {
		w.Log("with HISTORY=directory the history is written there")
		return
	}
	var b strings.Builder
	h := w.history()
	slices.SortStableFunc(h.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	for _, e := range h.Events {
		fmt.Fprintf(&b, "%d %-6s %-7s %s %d %s\n", e.At, e.Client, e.Event, e.Key, e.Token, e.Reason)
	}
	require.NoError(w, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(w.Name(), "/", "-")), []byte(b.String()), 0o600))
}

// serve starts a server, with a proxy and an operator for each client.
func (w *world) serve(directives ...string) {
	w.Helper()
	w.port = testkit.FreePort(w)
	addr := net.JoinHostPort("127.0.0.1", w.port)
	w.srv = testkit.Start(w, testkit.Command{Program: testkit.Lockserver(w), Addr: addr,
		Args: append([]string{"--port", w.port, "--save", ""}, directives...)})
	for _, a := range w.agents {
		w.ways[a.name] = newProxy(w, addr)
	}
	w.operators()
}

// operators connects an operator for each client.
func (w *world) operators() {
	w.Helper()
	for _, a := range w.agents {
		op := testkit.Dial(w, w.srv.Dial)
		op.Timeout = patience
		w.ops[a.name] = op
	}
}

// connect connects all agents through their proxies.
func (w *world) connect(timeout time.Duration) {
	w.Helper()
	w.each(func(a *agent) {
		eventually(w, a.name+" connects", func() bool {
			return a.ask(Request{Do: "connect", Kind: "server", Addrs: []string{w.ways[a.name].addr()}, TimeoutMS: int(timeout.Milliseconds())}).Error == ""
		})
	})
}

// each calls do for all agents at the same time.
func (w *world) each(do func(a *agent)) {
	w.Helper()
	var all sync.WaitGroup
	for _, a := range w.agents {
		all.Go(func() { do(a) })
	}
	all.Wait()
	if w.Failed() {
		w.FailNow()
	}
}

// result records what a client did.
func (w *world) result(a *agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results[a.name] = text
}

// history returns what all agents have written so far.
func (w *world) history() History {
	h := w.h
	for _, a := range w.agents {
		h.Events = append(h.Events, a.happened()...)
	}
	return h
}

// check checks the history.
func (w *world) check() {
	w.Helper()
	h := w.history()
	require.Empty(w, h.Check())
}

// waiting returns how many calls wait with NOTIFY.
func (w *world) waiting(op *testkit.Client) int {
	w.Helper()
	for line := range strings.Lines(op.Do("INFO", "locks").Str) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "lock_waiters_notify:"); ok {
			n, err := strconv.Atoi(text)
			require.NoError(w, err)
			return n
		}
	}
	require.Fail(w, "INFO has no lock_waiters_notify")
	return 0
}

// noLocks waits until the server has no lock.
func (w *world) noLocks(op *testkit.Client) {
	w.Helper()
	eventually(w, "no lock stays behind", func() bool { return len(op.Do("LOCK.LIST").Elems) == 0 })
}

// working starts workers of all agents that take locks at the same keys.
func (w *world) working(workers int, keys ...string) {
	w.Helper()
	w.each(func(a *agent) {
		a.must(Request{Do: "work", Workers: workers, Keys: keys, WaitMS: int((patience / 2).Milliseconds())})
	})
}

// goesOn waits until the workers of an agent have completed more sections.
func (a *agent) goesOn(what string) {
	a.t.Helper()
	before := a.must(Request{Do: "count"}).Sections
	eventually(a.t, a.name+" goes on "+what, func() bool { return a.must(Request{Do: "count"}).Sections >= before+2 })
}
