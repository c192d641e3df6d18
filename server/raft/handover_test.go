package raft

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"lockserver/server/gate"
)

// plainServer is a server with leases and without clients. It has only the parts that the tests use.
type plainServer struct {
	MemberServer
	mu   sync.Mutex
	gate gate.Gate
	held bool
	// undone has an element for each Back: whether it went back by both periods.
	undone []bool
	// changes and freed are the results of Size.
	changes, freed int
	advanced       int // periods
	// others are the users in force that are not the group's.
	others []string
}

func (s *plainServer) Locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
func (s *plainServer) Slice(f func())               { s.Locked(f) }
func (s *plainServer) Log() *slog.Logger            { return slog.New(slog.DiscardHandler) }
func (s *plainServer) Gate() *gate.Gate             { return &s.gate }
func (s *plainServer) NowMS() int64                 { return 1 }
func (s *plainServer) MachineMS() int64             { return 1 }
func (s *plainServer) LastToken() int64             { return 1 }
func (s *plainServer) EndUnit()                     {}
func (s *plainServer) HoldWrites(on bool)           { s.held = on }
func (s *plainServer) HoldAll()                     { s.held = true }
func (s *plainServer) HasLeases() bool              { return true }
func (s *plainServer) HandOn()                      {}
func (s *plainServer) DropClients()                 {}
func (s *plainServer) Records(bool)                 {}
func (s *plainServer) Followed(bool)                {}
func (s *plainServer) Background(func())            {}
func (s *plainServer) OtherUsers([]string) []string { return s.others }
func (s *plainServer) Undo() Undo                   { return plainUndo{s} }

// plainUndo counts the calls.
type plainUndo struct{ s *plainServer }

func (u plainUndo) Holds() bool                { return false }
func (u plainUndo) Begin()                     {}
func (u plainUndo) Advance()                   { u.s.advanced++ }
func (u plainUndo) End()                       {}
func (u plainUndo) Size() (changes, bytes int) { return u.s.changes, u.s.freed }
func (u plainUndo) Back(both bool) bool {
	u.s.undone = append(u.s.undone, both)
	return true
}

// slowTransfer is an engine that leads, and keeps a transfer going until the test ends it.
type slowTransfer struct {
	Engine
	begun chan string
	end   chan error
	// open keeps entries uncommitted until it is closed; nil: they are committed at once.
	open chan struct{}

	mu       sync.Mutex
	proposed int
}

func (e *slowTransfer) Leads() bool                      { return true }
func (e *slowTransfer) Status() Status                   { return Status{ID: "a"} }
func (e *slowTransfer) Successor(string) (string, error) { return "b", nil }
func (e *slowTransfer) Prove() func() error              { return func() error { return nil } }
func (e *slowTransfer) Transfer(id string) error         { e.begun <- id; return <-e.end }
func (e *slowTransfer) count() int                       { e.mu.Lock(); defer e.mu.Unlock(); return e.proposed }
func (e *slowTransfer) Propose([]byte) (wait func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.proposed++
	return func() error {
		if e.open != nil {
			<-e.open
		}
		return nil
	}
}

// leads is a member that leads and has nothing to do.
func leads(e Engine) (*Member, *plainServer) {
	s := &plainServer{}
	m := New(e, MemberOptions{SnapshotBytes: 1 << 40})
	m.SetHost(s)
	m.state, m.id, m.applied = leading, "history", place{id: "history"}
	return m, s
}

// TestNoEntryDuringATransfer: the engine would refuse it. The leader's clock, and a round that a reply waits
// for, come when the transfer has failed. The member goes on leading with its data.
func TestNoEntryDuringATransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slowTransfer{begun: make(chan string), end: make(chan error)}
		m, s := leads(e)
		go m.agree()
		over := make(chan error, 1)
		go func() { over <- transfer(m, nil) }()
		require.Equal(t, "b", <-e.begun)
		s.Slice(m.Tick)
		due := int64(0)
		s.Slice(func() {
			due = m.Due()
			m.EndSlice()
		})
		synctest.Wait()
		require.Zero(t, e.count())
		require.False(t, s.gate.Passes(due))

		e.end <- errors.New("no other member is elected")
		require.ErrorContains(t, <-over, "no other member is elected")
		synctest.Wait()
		require.Equal(t, 1, e.count())
		require.True(t, s.gate.Passes(due))
		s.Locked(func() {
			require.Equal(t, leading, m.state)
			require.Zero(t, m.counts.rebuilds+m.counts.undone)
			require.False(t, s.held)
		})
		close(m.closed)
	})
}

// TestTransferWaitsForAnEntry: an entry that is under way, such as one with only the leader's clock, is
// committed before the transfer begins. If it is not committed, no transfer does.
func TestTransferWaitsForAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &slowTransfer{begun: make(chan string, 1), end: make(chan error, 1), open: make(chan struct{})}
		m, s := leads(e)
		go m.agree()
		s.Slice(m.Tick)
		synctest.Wait()
		require.Equal(t, 1, e.count())
		require.ErrorContains(t, transfer(m, nil), errNotQuiet.Error())
		require.Empty(t, e.begun)
		close(e.open)
		synctest.Wait()
		e.end <- errors.New("over")
		require.ErrorContains(t, transfer(m, nil), "over")
		require.Len(t, e.begun, 1)
		s.Locked(func() { require.False(t, s.held) })
		close(m.closed)
	})
}
