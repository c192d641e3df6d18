//go:build simulation

package simulation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// scene is a group to which happens what a test says, and nothing else.
type scene struct {
	t *testing.T
	*group
}

// play lets a test have a group of some running members.
func play(t *testing.T, members int, f func(s *scene)) {
	bubble(t, func(t *testing.T) {
		s := &scene{t, newGroup(1, members, 0)}
		w := &world{group: s.group}
		w.begun = time.Now()
		defer func() { require.NoError(t, w.end()) }()
		for _, m := range s.all {
			require.NoError(t, m.start())
		}
		s.leader()
		f(s)
	})
}

// eventually waits until something is so.
func (s *scene) eventually(what string, is func() bool) {
	s.t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > mostHealing {
			require.FailNow(s.t, "not so: "+what)
		}
	}
}

// leader waits until one of these serves, or of all.
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

// others are the members that are not this one.
func (s *scene) others(than *member) (all []*member) {
	for _, m := range s.all {
		if m != than {
			all = append(all, m)
		}
	}
	return all
}

// do has the leader run a command that may run twice, also if the leader changes meanwhile.
func (s *scene) do(words ...string) (v resp.Value) {
	s.t.Helper()
	s.eventually(words[0]+" is answered", func() bool {
		v = s.leader().ask(words...)
		return !v.IsError()
	})
	return v
}

// same waits until all who run have the same data.
func (s *scene) same() {
	s.t.Helper()
	w := &world{group: s.group}
	s.eventually("all have the same", func() bool { return w.same() == nil })
}

// later sends a command, and hands out the reply when there is one.
func (m *member) later(words ...string) <-chan resp.Value {
	done := make(chan resp.Value, 1)
	go func() { done <- m.ask(words...) }()
	return done
}
