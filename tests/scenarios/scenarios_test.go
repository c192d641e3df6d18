//go:build scenarios

package scenarios

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// plays holds the scenarios by name.
var plays = map[string]func(w *world){
	"broken_connections":       brokenConnections,
	"kill_and_restart":         killAndRestart,
	"kill_without_data":        killWithoutData,
	"server_gone":              serverGone,
	"server_stopped":           serverStopped,
	"client_stopped":           clientStopped,
	"failover_in_a_group":      failoverInAGroup,
	"failover_under_sentinels": failoverUnderSentinels,
	"reasons":                  reasons,
	"five_errors":              fiveErrors,
	"close_releases":           closeReleases,
}

// TestScenarios plays all scenarios. With WRITE=1 it writes the table.
func TestScenarios(t *testing.T) {
	require.ElementsMatch(t, Names, slices.Collect(maps.Keys(plays)))
	r := Report{Date: time.Now().UTC().Format(time.DateOnly), Long: testkit.Long(), Results: make(map[string]map[string]string)}
	for _, name := range Names {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			plays[name](w)
			w.check()
			for _, a := range w.agents {
				t.Logf("%s: %s", a.name, w.results[a.name])
			}
			r.Results[name] = w.results
		})
	}
	if os.Getenv("WRITE") == "" || t.Failed() {
		return
	}
	for _, name := range Names {
		require.Len(t, r.Results[name], len(Clients), "WRITE=1 needs all scenarios and clients")
	}
	text, err := r.JSON()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(saved, text, 0o644))
	before, err := os.ReadFile(page)
	require.NoError(t, err)
	after, err := r.Into(string(before))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(page, []byte(after), 0o644))
}

// pauseOf returns for how long a process is stopped: 40 s in the long form, otherwise no longer than the
// scenario needs.
func pauseOf() time.Duration {
	if testkit.Long() {
		return 40 * time.Second
	}
	return 0
}

// watchdog returns the lease of locks that the server renews: its default in the long form.
func watchdog(short time.Duration) time.Duration {
	if testkit.Long() {
		return 30 * time.Second
	}
	return short
}

// impatience is how long calls wait for replies where none will come.
const impatience = 3 * time.Second

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func brokenConnections(w *world) {
	w.serve("--lock-watchdog-timeout", ms(watchdog(15*time.Second)))
	w.connect(patience / 2)
	breaks := testkit.Steps(250, 1000)
	w.h.Taken = func(key string) bool { return strings.HasPrefix(key, "victim-") }
	w.h.MayLose = func(e Event) bool { return strings.HasPrefix(e.Key, "victim-") }
	w.each(func(a *agent) { a.hold("kept-"+a.name, 0) })
	w.working(4, "door-0", "door-1", "door-2")
	w.each(func(a *agent) {
		way := w.ways[a.name]
		losses := 0
		for step := 1; way.count() < breaks; step++ {
			way.breakOne()
			time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond) // so that they break at a random moment
			if step%10 == 0 {
				a.goesOn("after a broken connection")
			}
			if step%50 == 0 {
				w.takeAway(a, losses)
				losses++
			}
		}
		done := a.must(Request{Do: "rest"})
		a.guarded("kept-" + a.name)
		a.must(Request{Do: "release", As: "kept-" + a.name})
		w.result(a, fmt.Sprintf("%d broken, %d sections, %d locks taken away and reported", way.count(), done.Sections, losses))
	})
	w.noLocks(w.ops[w.agents[0].name])
}

// takeAway takes a lock away as an operator.
func (w *world) takeAway(a *agent, number int) {
	key, op := "victim-"+a.name, w.ops[a.name]
	token := a.hold(key, 0).Token
	way := []struct {
		reason string
		words  []string
	}{{"forced", []string{"LOCK.FORCE", key}}, {"deleted", []string{"DEL", key}}, {"overwritten", []string{"SET", key, "no lock"}}}[number%3]
	op.Do(way.words...)
	reported := a.lost(key, token)
	// A client that was disconnected at that moment learns of the loss when it asks.
	require.Contains(w, []string{way.reason, "stale"}, reported.Reason, a.name)
	a.fails(Request{Do: "release", As: key}, "lost")
	op.Do("DEL", key)
}

func killAndRestart(w *world) {
	w.serve("--appendonly", "yes", "--appendfsync", "always", "--lock-watchdog-timeout", ms(watchdog(20*time.Second)))
	w.connect(patience / 2)
	tokens := make(map[string]int64)
	w.each(func(a *agent) {
		a.hold("kept-"+a.name, 0)
		a.hold("fixed-"+a.name, 600_000)
	})
	first := w.agents[0]
	tokens[first.name] = first.hold("queue", 0).Token
	calls := make(map[string]<-chan Answer)
	for _, a := range w.agents[1:] {
		calls[a.name] = a.send(Request{Do: "acquire", As: "queue", Key: "queue", WaitMS: -1})
	}
	eventually(w, "the others wait", func() bool { return w.waiting(w.ops[first.name]) == len(calls) })
	w.srv.Kill()
	require.NoError(w, w.srv.Start())
	w.operators()
	w.each(func(a *agent) {
		a.guarded("kept-" + a.name)
		a.guarded("fixed-" + a.name)
	})
	first.must(Request{Do: "release", As: "queue"})
	highest := tokens[first.name]
	w.each(func(a *agent) {
		if a == first {
			return
		}
		answer := a.answered(calls[a.name], "acquire queue")
		require.Empty(w, answer.Error, "%s: %s", a.name, answer.Text)
		require.Greater(w, answer.Token, highest)
		a.must(Request{Do: "release", As: "queue"})
	})
	w.each(func(a *agent) {
		a.must(Request{Do: "release", As: "kept-" + a.name})
		a.must(Request{Do: "release", As: "fixed-" + a.name})
		w.result(a, "both locks kept, its place in the queue too")
	})
	w.noLocks(w.ops[first.name])
}

func killWithoutData(w *world) {
	w.serve()
	w.h.MayLose = func(e Event) bool { return e.Reason == "stale" }
	w.connect(patience / 2)
	w.each(func(a *agent) { a.hold("kept-"+a.name, 0) })
	w.srv.Kill()
	require.NoError(w, w.srv.Start())
	w.operators()
	w.each(func(a *agent) {
		key := "kept-" + a.name
		token := a.must(Request{Do: "acquire", As: "next", Key: "next-" + a.name, WaitMS: -1}).Token
		found := Event{}
		eventually(w, a.name+" finds that its lock is gone", func() bool {
			for _, e := range a.happened() {
				if e.Event == Lost && e.Key == key {
					found = e
				}
			}
			return found.Event != ""
		})
		require.Equal(w, "stale", found.Reason, a.name)
		require.Greater(w, token, found.Token, "tokens rise over the loss of all data")
		a.fails(Request{Do: "guard", As: key, Words: []string{"SET", "x", "1"}}, "lost")
		a.fails(Request{Do: "release", As: key}, "lost")
		a.must(Request{Do: "release", As: "next"})
		w.result(a, "reported as stale; the next token is higher")
	})
}

// kept is a lock that a server renews, with the earliest time at which it can end if the server dies now.
type kept struct {
	key   string
	token int64
	end   int64 // microseconds
}

// keep makes each agent take a lock, and returns the time when each lease ends without renewal.
func (w *world) keep() map[string]kept {
	w.Helper()
	tokens := make(map[string]int64)
	for _, a := range w.agents {
		tokens[a.name] = a.hold("kept-"+a.name, 0).Token
	}
	all := make(map[string]kept)
	for _, a := range w.agents {
		began := Now()
		left := w.ops[a.name].Do("PTTL", "kept-"+a.name).Int
		require.Positive(w, left)
		all[a.name] = kept{"kept-" + a.name, tokens[a.name], began + int64(left)*1000}
	}
	return all
}

// reportedInTime waits for the report of the loss, and requires that it came before the lease can have ended.
// If the system did not run the program for a while, its report may be late by that time.
func (w *world) reportedInTime(a *agent, k kept) (before time.Duration) {
	w.Helper()
	reported := a.lost(k.key, k.token)
	require.Equal(w, "unreachable", reported.Reason, a.name)
	stalled := a.must(Request{Do: "stalled"}).Stalled
	require.LessOrEqual(w, reported.At, k.end+stalled, "%s: reported after its lease can have ended (its timers were late by %d µs)", a.name, stalled)
	return time.Duration(k.end-reported.At) * time.Microsecond
}

// unreachable requires that the agent's calls fail, because no server answers.
func (w *world) unreachable(a *agent, k kept) (longest time.Duration) {
	w.Helper()
	for _, q := range []Request{
		{Do: "acquire", As: "other", Key: "other-" + a.name, WaitMS: -1},
		{Do: "acquire", As: "try", Key: "try-" + a.name},
	} {
		began := time.Now()
		a.fails(q, "no_connection")
		longest = max(longest, time.Since(began))
	}
	a.fails(Request{Do: "guard", As: k.key, Words: []string{"SET", "x", "1"}}, "lost")
	a.fails(Request{Do: "release", As: k.key}, "lost")
	return longest
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func serverGone(w *world) {
	w.serve("--lock-watchdog-timeout", ms(watchdog(9*time.Second)))
	w.h.MayLose = func(e Event) bool { return e.Reason == "unreachable" }
	w.connect(impatience)
	holder := w.agents[0]
	holder.must(Request{Do: "acquire", As: "busy", Key: "busy", WaitMS: -1})
	calls := make(map[string]<-chan Answer)
	for _, a := range w.agents {
		calls[a.name] = a.send(Request{Do: "acquire", As: "waits", Key: "busy", WaitMS: -1})
	}
	eventually(w, "they wait", func() bool { return w.waiting(w.ops[holder.name]) == len(calls) })
	w.each(func(a *agent) { a.must(Request{Do: "stalled"}) })
	locks := w.keep()
	w.srv.Kill()
	w.each(func(a *agent) {
		before := w.reportedInTime(a, locks[a.name])
		answer := a.answered(calls[a.name], "a wait while there is no server")
		require.Equal(w, "no_connection", answer.Error, "%s: %s", a.name, answer.Text)
		longest := w.unreachable(a, locks[a.name])
		w.result(a, fmt.Sprintf("reported %s before the end of the lease; calls ended within %s", seconds(before), seconds(longest)))
	})
}

func serverStopped(w *world) {
	w.serve("--lock-watchdog-timeout", ms(watchdog(9*time.Second)))
	w.h.MayLose = func(e Event) bool { return e.Reason == "unreachable" }
	w.connect(impatience)
	w.each(func(a *agent) { a.must(Request{Do: "stalled"}) })
	locks := w.keep()
	began := time.Now()
	require.NoError(w, w.srv.Pause())
	longest := make(map[string]string)
	w.each(func(a *agent) {
		before := w.reportedInTime(a, locks[a.name])
		text := fmt.Sprintf("reported %s before the end of the lease; calls ended within %s", seconds(before), seconds(w.unreachable(a, locks[a.name])))
		w.mu.Lock()
		longest[a.name] = text
		w.mu.Unlock()
	})
	time.Sleep(pauseOf() - time.Since(began)) // the pause is part of the scenario
	paused := time.Since(began)
	require.NoError(w, w.srv.Continue())
	w.noLocks(w.ops[w.agents[0].name])
	w.each(func(a *agent) {
		again := "again-" + a.name
		eventually(w, a.name+" goes on", func() bool {
			return a.ask(Request{Do: "acquire", As: again, Key: again, WaitMS: -1}).Error == ""
		})
		a.guarded(again)
		eventually(w, a.name+" releases", func() bool {
			return slices.Contains([]string{"", "released"}, a.ask(Request{Do: "release", As: again}).Error)
		})
		w.result(a, longest[a.name]+"; went on after "+seconds(paused))
	})
	w.noLocks(w.ops[w.agents[0].name])
}

func clientStopped(w *world) {
	// A client that continues has a sixth of the lease for its first reply: enough even on a busy machine.
	lease := watchdog(4 * time.Second)
	w.serve("--lock-watchdog-timeout", ms(lease))
	w.h.MayLose = func(e Event) bool { return strings.HasPrefix(e.Key, "fixed-") }
	w.connect(patience / 2)
	fixed := 1000
	if testkit.Long() {
		fixed = 10_000
	}
	tokens := make(map[string]int64)
	for _, a := range w.agents {
		a.hold("renewed-"+a.name, 0)
	}
	for _, a := range w.agents {
		// On a busy machine the lease may end before the program is stopped. Then the program learns of it as
		// of any other loss.
		tokens[a.name] = a.hold("fixed-"+a.name, fixed).Token
	}
	began := time.Now()
	for _, a := range w.agents {
		w.h.Pauses = append(w.h.Pauses, Pause{Client: a.name, From: Now()})
		a.stop()
	}
	w.each(func(a *agent) {
		key := "fixed-" + a.name
		token := int64(w.ops[a.name].Do("LOCK", key, "rival", "PX", "600000", "WAIT", ms(patience)).Int)
		require.Greater(w, token, tokens[a.name])
		a.mu.Lock()
		a.events = append(a.events, Event{Event: In, Client: "rival", Key: key, Token: token, At: Now()})
		a.mu.Unlock()
		w.ops[a.name].Do("SET", "guarded:"+key, "rival")
	})
	for _, a := range w.agents { // twice the lease: the connections live, so the server renews
		eventually(w, "time has passed", func() bool { return time.Since(began) > max(2*lease, pauseOf()) })
		require.Positive(w, w.ops[a.name].Do("PTTL", "renewed-"+a.name).Int)
	}
	paused := time.Since(began)
	for i, a := range w.agents {
		w.h.Pauses[i].To = Now()
		a.goOn()
	}
	w.each(func(a *agent) {
		key := "fixed-" + a.name
		a.fails(Request{Do: "guard", As: key, Words: []string{"SET", "guarded:" + key, a.name}}, "lost")
		require.Equal(w, "rival", w.ops[a.name].Do("GET", "guarded:"+key).Str, "%s wrote after its lock was lost", a.name)
		reported := a.lost(key, tokens[a.name])
		require.Contains(w, []string{"expired", "stale"}, reported.Reason)
		a.fails(Request{Do: "check", As: key}, "lost")
		a.fails(Request{Do: "release", As: key}, "lost")
		a.guarded("renewed-" + a.name)
		a.must(Request{Do: "check", As: "renewed-" + a.name})
		a.must(Request{Do: "release", As: "renewed-" + a.name})
		w.result(a, fmt.Sprintf("after %s: the fixed lease is %s, its write refused; the renewed lock is kept", seconds(paused), reported.Reason))
	})
}

// throughFailovers runs workers while the leader is killed, stopped and replaced.
func (w *world) throughFailovers(steps []func(), names []string, mend func()) {
	w.Helper()
	w.working(2, "door")
	longest := make(map[string]time.Duration)
	for i, step := range steps {
		step()
		w.each(func(a *agent) {
			began := time.Now()
			a.goesOn("after " + names[i])
			w.mu.Lock()
			longest[a.name] = max(longest[a.name], time.Since(began))
			w.mu.Unlock()
		})
		mend()
	}
	w.each(func(a *agent) {
		done := a.must(Request{Do: "rest"})
		a.guarded("kept-" + a.name)
		eventually(w, a.name+" releases", func() bool {
			return slices.Contains([]string{"", "released"}, a.ask(Request{Do: "release", As: "kept-" + a.name}).Error)
		})
		w.result(a, fmt.Sprintf("%d sections over %d failovers, the lock kept; went on %s after the next leader", done.Sections, len(steps), seconds(longest[a.name])))
	})
}

// servers are servers with one leader.
type servers interface {
	AwaitLeader() *fleet.Process
	Successor(of *fleet.Process) *fleet.Process
	Replace(leader *fleet.Process)
}

// failovers returns those of the steps kill, pause and plan that are named.
func failovers(s servers, names ...string) (steps []func(), mend func()) {
	leader, back := s.AwaitLeader(), func() {}
	begin := map[string]func(){
		"kill":  func() { old := leader; old.Kill(); back = old.Start },
		"pause": func() { old := leader; old.Pause(); back = old.GoOn },
		"plan":  func() { s.Replace(leader); back = func() {} },
	}
	for _, name := range names {
		steps = append(steps, func() {
			begin[name]()
			s.Successor(leader)
		})
	}
	return steps, func() {
		back()
		leader = s.AwaitLeader()
	}
}

func addresses(of []*fleet.Process) (all []string) {
	for _, p := range of {
		all = append(all, p.Addr())
	}
	return all
}

// join connects all agents to servers with one leader, and makes each take a lock. A call waits for a reply
// at most as long as the lease: a call that a stopped leader has read gets no reply.
func (w *world) join(q Request) {
	w.Helper()
	q.TimeoutMS = 10_000
	w.each(func(a *agent) {
		for _, q := range []Request{q, {Do: "acquire", As: "kept-" + a.name, Key: "kept-" + a.name, WaitMS: -1}} {
			eventually(w, a.name+" connects", func() bool { return a.ask(q).Error == "" })
		}
	})
}

// failoverLease is the server's lease in the short form. The next leader confirms a lock that was granted
// just before its leader died. It must do so within a quarter of the lease, because later the client reports
// it as lost. On a machine at load 23 the next leader was found after more than 5 s.
const failoverLease = time.Minute

func failoverInAGroup(w *world) {
	program := testkit.Lockserver(w)
	g := fleet.Form(w, "raft-clients cluster\nlock-watchdog-timeout "+ms(watchdog(failoverLease))+"\n", program, program, program)
	w.join(Request{Do: "connect", Kind: "cluster", Addrs: addresses(g.Members)})
	names := []string{"kill", "pause", "plan"}
	steps, mend := failovers(g, names...)
	w.throughFailovers(steps, names, mend)
}

func failoverUnderSentinels(w *world) {
	program := testkit.Lockserver(w)
	f := fleet.Start(w, string(testkit.Installed(w)), "min-replicas-ack 1\nlock-watchdog-timeout "+ms(watchdog(failoverLease))+"\n", program, program, program)
	w.join(Request{Do: "connect", Kind: "sentinel", Addrs: addresses(f.Sentinels), Master: fleet.Name})
	names := []string{"kill", "pause"}
	steps, mend := failovers(f, names...)
	w.throughFailovers(steps, names, mend)
}

func reasons(w *world) {
	w.serve()
	w.h.MayLose = func(e Event) bool { return strings.HasPrefix(e.Key, e.Reason+"-") }
	w.connect(patience / 2)
	w.each(func(a *agent) {
		op := w.ops[a.name]
		for _, way := range [][]string{{"forced", "LOCK.FORCE"}, {"deleted", "DEL"}, {"overwritten", "SET"}, {"expired"}, {"closed"}} {
			key, lease := way[0]+"-"+a.name, 0
			if way[0] == "expired" {
				lease = 100
			}
			token := a.hold(key, lease).Token
			switch way[0] {
			case "forced", "deleted":
				op.Do(way[1], key)
			case "overwritten":
				op.Do(way[1], key, "no lock")
			case "closed":
				a.must(Request{Do: "close"})
			}
			require.Equal(w, way[0], a.lost(key, token).Reason, a.name)
			a.fails(Request{Do: "check", As: key}, "lost")
			a.fails(Request{Do: "release", As: key}, "lost")
		}
		w.result(a, "forced, deleted, overwritten, expired, closed: once each")
	})
	w.noLocks(w.ops[w.agents[0].name])
}

func fiveErrors(w *world) {
	w.serve()
	w.connect(5 * time.Second)
	for _, a := range w.agents { // one after the other, so that it is known which call waits
		op := w.ops[a.name]
		busy := "busy-" + a.name
		require.Positive(w, op.Do("LOCK", busy, "rival").Int)
		a.fails(Request{Do: "acquire", As: "try", Key: busy}, "not_acquired")
		a.fails(Request{Do: "acquire", As: "short", Key: busy, WaitMS: 50}, "not_acquired")
		a.fails(Request{Do: "acquire", As: "deadline", Key: busy, WaitMS: -1, DeadlineMS: 100}, "deadline")
		eventually(w, "none waits", func() bool { return w.waiting(op) == 0 })
		call := a.send(Request{Do: "acquire", As: "cancelled", Key: busy, WaitMS: -1})
		eventually(w, "it waits", func() bool { return w.waiting(op) == 1 })
		a.must(Request{Do: "cancel", As: "cancelled"})
		require.Equal(w, "cancelled", a.answered(call, "a cancelled call").Error)
		eventually(w, "none waits", func() bool { return w.waiting(op) == 0 })

		one, two := "one-"+a.name, "two-"+a.name
		a.must(Request{Do: "acquire", As: one, Key: one, WaitMS: -1, Task: "first"})
		a.must(Request{Do: "acquire", As: two, Key: two, WaitMS: -1, Task: "second"})
		call = a.send(Request{Do: "acquire", As: "one-then-two", Key: two, WaitMS: -1, Task: "first"})
		eventually(w, "it waits", func() bool { return w.waiting(op) == 1 })
		a.fails(Request{Do: "acquire", As: "two-then-one", Key: one, WaitMS: -1, Task: "second"}, "deadlock")
		a.must(Request{Do: "release", As: two})
		answer := a.answered(call, "the other wait")
		require.Empty(w, answer.Error, "%s: %s", a.name, answer.Text)
		a.must(Request{Do: "release", As: "one-then-two"})
		a.must(Request{Do: "release", As: one})
		w.result(a, "five different ones")
	}
	w.srv.Kill()
	w.each(func(a *agent) {
		a.fails(Request{Do: "acquire", As: "none", Key: "none", WaitMS: -1}, "no_connection")
	})
}

func closeReleases(w *world) {
	w.serve()
	w.h.MayLose = func(e Event) bool { return e.Reason == "closed" }
	w.connect(patience / 2)
	op := w.ops[w.agents[0].name]
	require.Positive(w, op.Do("LOCK", "busy", "rival").Int)
	calls := make(map[string]<-chan Answer)
	for _, a := range w.agents {
		a.hold("kept-"+a.name, 0)
		calls[a.name] = a.send(Request{Do: "acquire", As: "waits", Key: "busy", WaitMS: -1})
	}
	eventually(w, "they wait", func() bool { return w.waiting(op) == len(calls) })
	w.each(func(a *agent) {
		began := time.Now()
		a.must(Request{Do: "close"})
		took := time.Since(began)
		require.Equal(w, "closed", a.answered(calls[a.name], "a call that waited").Error, a.name)
		a.fails(Request{Do: "acquire", As: "late", Key: "late", WaitMS: -1}, "closed")
		w.result(a, fmt.Sprintf("released, its waiting call ended, within %.0f ms", max(1, float64(took.Milliseconds()))))
	})
	eventually(w, "only the rival's lock is left", func() bool { return len(op.Do("LOCK.LIST").Elems) == 1 })
	require.Zero(w, w.waiting(op))
}
