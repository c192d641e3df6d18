//go:build simulation

package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// scene is a group in which only that happens what a test says.
type scene struct {
	t *testing.T
	*group
}

// play runs a test with a group of running members.
func play(t *testing.T, members int, f func(s *scene)) {
	bubble(t, func(t *testing.T) {
		s := &scene{t, newGroup(1, members, 0)}
		w := &world{group: s.group, history: new(history)}
		w.begun = time.Now()
		defer func() { require.NoError(t, w.end()) }()
		for _, m := range s.all {
			require.NoError(t, m.start())
		}
		s.leader()
		f(s)
	})
}

// eventually waits until a condition holds.
func (s *scene) eventually(what string, is func() bool) {
	s.t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > mostHealing {
			require.FailNow(s.t, "not so: "+what)
		}
	}
}

// leader waits until one of the given members serves, or one of all members.
func (s *scene) leader(of ...*member) (found *member) {
	s.t.Helper()
	if len(of) == 0 {
		of = s.all
	}
	s.eventually("one leads", func() bool {
		for _, m := range of {
			if m.alive.Load() != nil && m.alive.Load().engine.Leads() && m.ask("PING").Str == "PONG" && !m.ask("GET", "any").IsError() {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// others returns the members except one.
func (s *scene) others(than *member) (all []*member) {
	for _, m := range s.all {
		if m != than {
			all = append(all, m)
		}
	}
	return all
}

// do runs a command on the leader, again if the leader changes meanwhile. So the command must be repeatable.
func (s *scene) do(words ...string) (v resp.Value) {
	s.t.Helper()
	s.eventually(words[0]+" is answered", func() bool {
		v = s.leader().ask(words...)
		return !v.IsError()
	})
	return v
}

// same waits until all running members have the same data.
func (s *scene) same() {
	s.t.Helper()
	w := &world{group: s.group, history: new(history)}
	s.eventually("all have the same", func() bool { return w.same() == nil })
}

// later sends a command, and sends the reply on a channel.
func (m *member) later(words ...string) <-chan resp.Value {
	done := make(chan resp.Value, 1)
	go func() { done <- m.ask(words...) }()
	return done
}
