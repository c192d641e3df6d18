package raft

import (
	"errors"
	"fmt"
	"strings"

	"lockserver/commands"
	"lockserver/server/info"
	"lockserver/server/slotmove"
)

// meet handles an entry with slots, or with a step of a move. An entry that is void changes nothing. Under
// the host's lock.
func (o *OwnedSlots) meet(m *Member, index uint64, e *entry) error {
	next, err := o.now.Load().after(index, e)
	if err != nil && !errors.Is(err, errVoid) && !errors.Is(err, slotmove.ErrVoid) {
		m.stop(fmt.Errorf("an entry of the log cannot be read: %w", err))
	}
	if err != nil {
		return err
	}
	o.show(m, next)
	return nil
}

// after returns the slots after an entry. s is nil if the log has named no slots before.
func (s *groupSlots) after(index uint64, e *entry) (*groupSlots, error) {
	if e.after.id == slotsID {
		if s != nil && s.table.Generation != e.after.offset || s == nil && e.after.offset != 0 || s.moved() {
			return nil, errVoid
		}
		next, err := slotsOf(string(e.bytes))
		if err == nil {
			next.table.Generation = e.after.offset + 1
		}
		return next, err
	}
	step, err := slotmove.ParseEntry(e.bytes)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errVoid
	}
	next := &groupSlots{s.cluster, s.table.Clone()}
	_, err = next.table.Apply(int64(index), step)
	return next, err
}

// show sets the slots of the group; nil: the log names no slots.
func (o *OwnedSlots) show(m *Member, s *groupSlots) {
	o.now.Store(s)
	m.changed()
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

// MoveSlots proposes a step of a move. It returns when the entry is committed and applied here. A void entry
// has the error of slotmove.Table.Apply. A member of an older version keeps a move from beginning; a move
// that has begun goes on. Without the lock.
func (m *Member) MoveSlots(step *slotmove.Entry) (err error) {
	var made []byte
	m.host.Slice(func() {
		if err = m.mayMove(step); err == nil {
			made = moveEntry(step, m.head.ClockMS, m.head.Token).appendTo(nil)
			m.counts.entries++
		}
	})
	if err != nil {
		return err
	}
	return m.engine.Propose(made)()
}

// mayMove returns why this member cannot propose a step; nil: it can. A member without an answer is no
// reason.
func (m *Member) mayMove(step *slotmove.Entry) error {
	if m.state != leading {
		return m.errNotHere()
	}
	if step.Kind != slotmove.Leave && step.Kind != slotmove.Arrive {
		return nil
	}
	s := m.engine.Status()
	if older, ok := s.older(historySlotMoves); ok {
		return commands.Error(fmt.Sprintf("ERR slots cannot move while member '%s' runs an older version (%s), which does not know moves", older.ID, older.Version))
	}
	return nil
}

// faults returns the texts of the alarms about slots, and about the map of the shards.
func (o *OwnedSlots) faults(m *Member) (slots, maps []string) {
	c := m.host.Cluster()
	if o.fault != "" {
		c.SlotFaults = append(c.SlotFaults, o.fault)
	}
	return c.SlotFaults, c.MapFaults
}

// write writes the fields of INFO about the cluster.
func (o *OwnedSlots) write(m *Member, t *info.Text) {
	c := m.host.Cluster()
	generation, _ := o.Slots()
	t.Line("raft_shard", c.Shard)
	t.Line("raft_slots", c.Slots)
	t.Line("raft_slots_generation", generation)
	t.Line("raft_map_age_ms", c.MapAgeMS)
}
