package raft

import (
	"errors"
	"fmt"
	"strings"

	"lockserver/commands"
	"lockserver/server/cluster"
	"lockserver/server/info"
	"lockserver/server/slotdata"
	"lockserver/server/slotmove"
)

// named returns the slots after an entry that names them. s is nil if the log has named no slots before.
func (s *groupSlots) named(e *entry) (*groupSlots, error) {
	if s != nil && s.table.Generation != e.after.offset || s == nil && e.after.offset != 0 || s.moved() {
		return nil, errVoid
	}
	next, err := slotsOf(string(e.bytes))
	if err == nil {
		next.table.Generation = e.after.offset + 1
	}
	return next, err
}

// step returns the slots after a step of a move, and the change of the data that it asks for.
func (s *groupSlots) step(index uint64, e *entry) (next *groupSlots, step *slotmove.Entry, effect slotmove.Effect, err error) {
	if step, err = slotmove.ParseEntry(e.bytes); err != nil {
		return nil, nil, 0, err
	}
	if s == nil {
		return nil, nil, 0, errVoid
	}
	next = &groupSlots{s.cluster, s.table.Clone()}
	effect, err = next.table.Apply(int64(index), step)
	return next, step, effect, err
}

// IsVoid reports whether an entry with this error changes nothing.
func IsVoid(err error) bool { return errors.Is(err, errVoid) || errors.Is(err, slotmove.ErrVoid) }

// arriving returns the slots of a move to this shard.
func (s *groupSlots) arriving(id slotmove.ID) []cluster.Range {
	for i := range s.table.In {
		if in := &s.table.In[i]; in.Move == id {
			return in.Slots
		}
	}
	return nil
}

// claim proposes the slots of the configuration for a group that owns none. It is called when this member
// begins to serve, and about once a second.
func (o *OwnedSlots) claim(m *Member) {
	o.fault = ""
	if m.options.Slots == "" || m.state != leading || m.quiet || m.unseen || o.claiming || o.now.Load() != nil {
		return
	}
	if err := o.mayClaim(m); err != nil {
		o.fault = "this group cannot begin to own its slots: " + err.Error()
		return
	}
	o.claiming = true
	made := slotsEntry(0, m.options.Slots, m.head.ClockMS, m.head.Token).appendTo(nil)
	m.host.Background(func() {
		err := m.engine.Propose(made)()
		m.host.Locked(func() { o.claiming = false })
		if err == nil {
			m.host.Log().Info("raft: this group owns the slots of cluster-slots from now on", "slots", strings.TrimSpace(m.options.Slots))
		}
	})
}

// mayClaim returns why the group cannot begin to own slots; nil: it can. A member without an answer is no
// reason.
func (o *OwnedSlots) mayClaim(m *Member) error {
	s := m.engine.Status()
	if older, ok := s.older(historySlots); ok {
		return fmt.Errorf("member '%s' runs an older version (%s), which does not know slots of a group", older.ID, older.Version)
	}
	return m.host.MayOwn(m.options.Slots)
}

// MoveSlots proposes steps of moves. It returns when their entries are committed and applied here, with the
// first error. A void entry has the error of slotmove.Table.Apply. A member of an older version keeps a move
// from beginning; a move that has begun goes on. Without the lock.
func (m *Member) MoveSlots(steps ...*slotmove.Entry) (err error) {
	made := make([][]byte, len(steps))
	m.host.Slice(func() {
		for i, step := range steps {
			if err = m.mayMove(step); err != nil {
				return
			}
			made[i] = moveEntry(step, m.head.ClockMS, m.head.Token).appendTo(nil)
		}
		m.counts.entries += int64(len(made))
	})
	if err != nil {
		return err
	}
	waits := make([]func() error, len(made))
	for i := range made {
		waits[i] = m.engine.Propose(made[i])
	}
	for _, wait := range waits {
		if failed := wait(); err == nil {
			err = failed
		}
	}
	return err
}

// heldFor are the steps that are written only while clients are held for them.
var heldFor = map[slotmove.Kind]HoldKind{slotmove.Freeze: ForFreeze, slotmove.Give: ForFreeze, slotmove.Take: ForTake}

// mayMove returns why this member cannot propose a step; nil: it can. A member without an answer is no
// reason, and no member is one for a move that has begun.
func (m *Member) mayMove(step *slotmove.Entry) error {
	if m.state != leading {
		return m.errNotHere()
	}
	if kind, is := heldFor[step.Kind]; is && m.held != kind {
		return errNotHolden
	}
	if step.Kind != slotmove.Leave && step.Kind != slotmove.Arrive {
		return nil
	}
	if t := m.Owned.Table(); t != nil && t.Out != nil && step.Kind == slotmove.Leave && t.Out.Number == step.Move.Number {
		return nil
	}
	s := m.engine.Status()
	if older, ok := s.older(historySlotMoves); ok {
		return commands.Error(fmt.Sprintf("ERR slots cannot move while member '%s' runs an older version (%s), which does not know moves", older.ID, older.Version))
	}
	return nil
}

// faults returns the texts of the alarms about slots, about the map of the shards, and about moves of slots.
// Only the leader hears from the other shard of a move, so only its moves have faults.
func (o *OwnedSlots) faults(m *Member) (slots, maps, moves []string) {
	c := m.host.Cluster()
	if o.fault != "" {
		c.SlotFaults = append(c.SlotFaults, o.fault)
	}
	if m.state == leading {
		moves = c.Moves.Faults
	}
	return c.SlotFaults, c.MapFaults, moves
}

// write writes the fields of INFO about the cluster.
func (o *OwnedSlots) write(m *Member, t *info.Text) {
	c := m.host.Cluster()
	generation, _ := o.Slots()
	t.Line("raft_shard", c.Shard)
	t.Line("raft_slots", c.Slots)
	t.Line("raft_slots_generation", generation)
	t.Line("raft_map_age_ms", c.MapAgeMS)
	t.Line("raft_moves_away", c.Moves.Away)
	t.Line("raft_moves_in", c.Moves.In)
	t.Line("raft_move_bytes_sent", c.Moves.Sent)
	t.Line("raft_move_bytes_left", c.Moves.Left)
	t.Line("raft_move_frozen_ms", c.Moves.FrozenMS)
	t.Line("raft_move_silent_ms", c.Moves.SilentMS)
}

// Staged returns the memory of slots that arrive, in bytes.
func (m *Member) Staged() int { return m.Owned.stagings.used() }

// Staging returns the slots of a move that arrive here; nil: there is no such move.
func (m *Member) Staging(id slotmove.ID) *slotdata.Staging { return m.Owned.stagings[id] }

// Keys and leases of an arriving move are taken in steps, between which others get the lock.
const (
	takenPerSlice   = 2000
	shiftedPerSlice = 2000
)

// moveSlots applies a step of a move. Without the lock. The data of the slots is complete when the table
// shows that they are owned.
func (a openedMember) moveSlots(index uint64, e *entry) (err error) {
	m, o := a.member, &a.member.Owned
	var next *groupSlots
	var step *slotmove.Entry
	take := false
	m.host.Slice(func() {
		var effect slotmove.Effect
		if m.run != a.run || m.state == stopped {
			err = errForeign
			return
		}
		if next, step, effect, err = o.now.Load().step(index, e); err != nil {
			if !IsVoid(err) {
				m.stop(fmt.Errorf("an entry of the log cannot be read: %w", err))
			}
			return
		}
		switch effect {
		case slotmove.MakeStaging:
			if o.stagings == nil {
				o.stagings = stagings{}
			}
			o.stagings[step.Move] = m.host.NewStaging(step.Slots)
		case slotmove.StageAnew, slotmove.StageOn:
			s := o.stagings[step.Move]
			if effect == slotmove.StageAnew {
				s = m.host.NewStaging(o.now.Load().arriving(step.Move))
				o.stagings[step.Move] = s
			}
			s.Add(m.host.NowMS()*1000, step.Effects, func(argv [][]byte) error { return m.host.ApplyTo(s.DB(), argv) })
			// plant:slots-stage
			m.host.EndUnit()
		case slotmove.ServeSlots:
			if m.held == ForFreeze {
				m.release()
			}
		case slotmove.DropStaging:
			delete(o.stagings, step.Move)
		case slotmove.TakeStaging:
			take = true
			return
		}
		o.show(m, next)
		m.progress.made()
	})
	if take && err == nil {
		err = a.take(step, next)
	}
	return err
}

// take makes the slots of a staging data of the shard, in steps. Next is the table afterwards. The leader
// holds its clients, and all that it has executed is committed: see Hold. Otherwise its data is that of
// another order of the log, so it gives way, and applies the entry as a follower.
func (a openedMember) take(step *slotmove.Entry, next *groupSlots) (err error) {
	m := a.member
	deposed := false
	m.host.Slice(func() {
		if m.run == a.run && m.state == leading {
			if m.host.HandOn(); m.held != ForTake || !m.allCommitted() {
				m.depose("slots were taken while commands ran")
				deposed = true
			}
		}
		m.host.EndUnit()
	})
	s := (*slotdata.Staging)(nil)
	slice := func(f func()) bool {
		m.host.Slice(func() {
			if m.run != a.run || m.state == stopped {
				err = errForeign
				return
			}
			s = m.Owned.stagings[step.Move]
			f()
			m.host.EndUnit()
		})
		return err == nil
	}
	cursor := 0
	for cursor >= 0 && slice(func() {
		// plant:slots-shift
		cursor = s.ShiftLeases(cursor, shiftedPerSlice, step.ShiftMS())
	}) {
	}
	for left := 1; left > 0 && err == nil; {
		slice(func() { left = m.host.TakeStaging(s, takenPerSlice) })
	}
	slice(func() {
		// plant:slots-take-token
		m.head.Token = max(m.head.Token, step.Token)
		if delete(m.Owned.stagings, step.Move); m.state == leading {
			m.host.SeeToken(m.head.Token)
			m.host.Undo().End() // nothing is to be taken back: all is committed
			m.beginUndo()
		}
		m.Owned.show(m, next)
		m.progress.made()
	})
	if deposed && err == nil {
		m.host.Background(func() { m.leadAgain(a.run) })
	}
	return err
}

// leadAgain makes a member that has given way the leader again, if the others have elected no other one.
// Without the lock.
func (m *Member) leadAgain(run int) {
	if m.engine.Leads() {
		m.lead(run)
	}
}

// meet handles an entry with slots. An entry that is void changes nothing. Under the host's lock.
func (o *OwnedSlots) meet(m *Member, e *entry) error {
	next, err := o.now.Load().named(e)
	if err != nil && !IsVoid(err) {
		m.stop(fmt.Errorf("an entry of the log cannot be read: %w", err))
	}
	if err != nil {
		return err
	}
	o.show(m, next)
	return nil
}

// show sets the slots of the group; nil: the log names no slots.
func (o *OwnedSlots) show(m *Member, s *groupSlots) {
	o.now.Store(s)
	m.changed()
}
