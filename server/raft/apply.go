package raft

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"lockserver/persistence"
	"lockserver/server/replication"
)

var _ Machine = openedMember{}

// errVoid is returned for an entry that does not begin at the present place of the log.
var errVoid = errors.New("the entry does not go on where the history has come to")

// Apply implements Machine.
func (a openedMember) Apply(index uint64, b []byte, again bool) (err error) {
	m := a.member
	e, bad := parseEntry(b)
	var in *replication.Input
	users, moves := false, e.after.id == movesID
	m.host.Slice(func() {
		switch {
		case m.run != a.run || m.state == stopped:
			err = errForeign
			return
		case bad != nil:
			err = bad
			m.stop(fmt.Errorf("an entry of the log cannot be read: %w", bad))
			return
		}
		m.logBytes += int64(len(b))
		m.index = index
		if at, ok := e.marks(); ok {
			a.meetMark(index, at, again)
			return
		}
		if e.isUsers() {
			users, err = true, m.meetUsers(index, &e)
			return
		}
		if e.isSlots() {
			if !moves {
				err = m.Owned.meet(m, &e)
			}
			return
		}
		// plant:raft-entry-place
		if e.after != m.applied {
			err = errVoid
			return
		}
		m.head.ClockMS, m.head.Token = max(m.head.ClockMS, e.clockMS), max(m.head.Token, e.token)
		m.head.Rules = m.head.Rules || e.rules
		if m.state == leading && e.id == m.id {
			m.applied = e.end()
			m.progress.made()
			if m.undoing.full {
				m.emptyPeriod()
				m.host.EndUnit()
			}
			return
		}
		m.depose("another member leads")
		m.lookAtEntry(e.clockMS)
		if m.run != a.run {
			err = errForeign
			m.host.EndUnit()
			return
		}
		if m.input == nil || e.id != m.applied.id {
			m.input = replication.NewInput(m.db) // a leader that has died may have left a part of a unit
		}
		in = m.input
	})
	if users {
		m.keepUsers()
	}
	if moves && err == nil {
		return a.moveSlots(index, &e)
	}
	if in == nil {
		return err
	}
	return a.follow(&e, in, again)
}

// follow applies what the leader has done. If the entry is applied again, its messages are left out: they
// have been published.
func (a openedMember) follow(e *entry, in *replication.Input, again bool) error {
	m := a.member
	err := in.Take(e.bytes)
	for some := in.Next(); len(some) > 0 && err == nil; some = in.Next() {
		if len(some) == 1 && len(some[0].Commands) == 1 {
			byMS, all, ok, bad := parseMove(some[0].Commands[0].Argv)
			if err = bad; ok {
				if err == nil {
					err = a.moveDeadlines(byMS, all)
				}
				in.Bytes(&some[0])
				continue
			}
		}
		m.host.Slice(func() {
			for i := range some {
				if err = m.applyUnit(&some[i], again); err != nil {
					return
				}
				in.Bytes(&some[i])
			}
		})
	}
	in.Keep()
	m.host.Slice(func() {
		switch {
		case m.run != a.run:
			err = errForeign
		case errors.Is(err, ErrEnding): // it is applied after the next start
		case err != nil:
			m.stop(fmt.Errorf("an entry of the log cannot be applied: %w", err))
		default:
			m.applied = e.end()
			m.progress.made()
		}
	})
	return err
}

// applyUnit does what the commands of a unit say.
func (m *Member) applyUnit(u *replication.Unit, again bool) error {
	defer m.host.EndUnit()
	for _, c := range u.Commands {
		if again && isMessage(c.Argv) {
			continue
		}
		// plant:raft-follow
		if err := m.host.Apply(c.DB, c.Argv); err != nil {
			return err
		}
	}
	m.db = u.DB
	return nil
}

// errNotNow says that no cut can be made now, because the data is between two places of the log.
var errNotNow = errors.New("something is under way")

// Cut implements Machine.
func (a openedMember) Cut() (cut Cut, err error) {
	m := a.member
	m.host.Slice(func() {
		switch {
		case m.run != a.run || m.state == stopped:
			err = errForeign
		case m.state == leading:
			m.host.HandOn()
			if !m.allCommitted() {
				err = errNotNow
				return
			}
			m.db = m.selected()
		case m.input != nil && !m.input.Whole(), m.partly:
			err = errNotNow
		}
		if err != nil {
			return
		}
		at := persistence.History{ID: m.applied.id, Offset: m.applied.offset, DB: m.db}
		// plant:raft-snapshot
		cut = &headedCut{m.host.Cut(at, persistence.Agreed{Users: m.users.usersText(), Slots: m.Owned.now.Load().text()}), m.Owned.save(), m.host, Head{m.head.ClockMS, max(m.head.Token, m.host.LastToken()), m.head.Rules, m.Owned.now.Load().moved()}}
		m.logBytes = 0
		m.release()
		m.host.EndUnit()
	})
	return cut, err
}

// headedCut is a cut, with the head that its snapshot begins with, and the slots that arrive.
type headedCut struct {
	Cut
	stagings savedStagings
	host     MemberServer
	head     Head
}

// Write implements Cut.
func (c *headedCut) Write(w io.Writer) error {
	err := writeHead(w, c.head)
	if err == nil && c.head.Moves {
		err = c.stagings.write(w)
	}
	if err == nil {
		err = c.Cut.Write(w)
	}
	return err
}

// Release implements Cut. It takes the host's lock, because the data shares memory with the cut.
func (c *headedCut) Release() {
	c.host.Locked(func() {
		c.stagings.release()
		c.Cut.Release()
	})
}

// Restore implements Machine.
func (a openedMember) Restore(r io.Reader) error {
	m := a.member
	from := bufio.NewReader(r)
	head, err := readHead(from)
	m.host.Slice(func() {
		switch {
		case m.run != a.run:
			err = errForeign
			return
		case err != nil:
			m.stop(fmt.Errorf("a snapshot cannot be loaded: %w", err))
			return
		}
		if m.state == leading { // what it has done is thrown away with all else, but the machine stays
			m.giveWay()
			m.host.Undo().End()
			m.host.DropClients()
		}
		m.become(rebuilding)
		m.host.EndUnit()
	})
	if err != nil {
		return err
	}
	var staged stagings
	if head.Moves {
		staged, err = readStagings(from, m.host)
	}
	at, agreed := persistence.History{}, persistence.Agreed{}
	if err == nil {
		at, agreed, err = m.host.Replace(from)
	}
	if err == nil && at.ID == "" {
		err = errors.New("a snapshot of the group has no position in the history")
	}
	var users groupUsers
	if err == nil {
		users, err = parseUsers(agreed.Users)
	}
	var slots *groupSlots
	if err == nil {
		slots, err = parseSlots(agreed.Slots)
	}
	if err == nil {
		err = staged.complete(slots)
	}
	m.host.Slice(func() {
		switch {
		case m.run != a.run:
			err = errForeign
			return
		case err != nil:
			m.stop(fmt.Errorf("a snapshot cannot be loaded: %w", err))
		case m.state == rebuilding && !m.anew.under:
			m.become(following)
		}
		m.applied, m.db, m.input = place{at.ID, at.Offset}, max(0, at.DB), nil
		m.head.ClockMS, m.head.Token = max(m.head.ClockMS, head.ClockMS), max(m.head.Token, head.Token)
		m.head.Rules = m.head.Rules || head.Rules
		m.logBytes = 0
		if err == nil {
			m.restoreUsers(users)
			m.Owned.stagings = staged
			m.Owned.show(m, slots)
		}
	})
	m.keepUsers()
	return err
}

// Anew implements Machine.
func (a openedMember) Anew() {
	m := a.member
	m.host.Slice(func() {
		if m.run != a.run || m.state == stopped {
			return
		}
		if m.depose("the log is opened anew"); m.run == a.run {
			m.host.Log().Info("raft: the log does not go on from a snapshot that the leader has sent: all data is built anew")
			m.reopen()
		}
		m.host.EndUnit()
	})
}

// Changed implements Machine.
func (a openedMember) Changed() { a.member.changed() }

// Leads implements Machine.
func (a openedMember) Leads(on bool) {
	m := a.member
	if on {
		m.lead(a.run)
		return
	}
	m.host.Slice(func() {
		if m.run == a.run {
			m.depose("this member was not heard of by enough others, or gave way")
			m.host.EndUnit()
		}
	})
}
