package raft

import (
	"errors"
	"fmt"
	"strings"

	"lockserver/server/info"
)

// meet handles an entry with slots. Under the host's lock.
func (o *OwnedSlots) meet(m *Member, e *entry) error {
	if e.after.id == movesID {
		m.stop(errors.New("an entry of the log moves slots to another group, which this version cannot do: a newer lockserver wrote it"))
		return errForeign
	}
	if generation, _ := o.Slots(); e.after.offset != generation {
		return errVoid
	}
	o.show(m, &groupSlots{e.after.offset + 1, string(e.bytes)})
	return nil
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
