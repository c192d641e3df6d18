package migration

import (
	"cmp"
	"slices"
	"time"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
)

// mostPast is the number of ended moves that Moves returns.
const mostPast = 20

// Moves implements topology.Mover.
func (d *Driver) Moves() (all []topology.Move) {
	d.observe()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.known {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b topology.Move) int { return int(b.BegunMS - a.BegunMS) })
	return append(all, d.past...)
}

// observe records the states of the moves in the table, and returns the table. It reads the table under the
// lock: by an older table than that of an earlier call, an open move would be over.
func (d *Driver) observe() (t *slotmove.Table) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t = d.member.Owned.Table(); t != nil {
		d.record(t)
	}
	return t
}

// record is observe for a table. The caller holds mu.
func (d *Driver) record(t *slotmove.Table) {
	now := time.Now().UnixMilli()
	there := map[string]bool{}
	meet := func(m topology.Move) {
		there[m.Name] = true
		is := d.known[m.Name]
		if is == nil {
			m.BegunMS, m.ChangedMS, m.Left = now, now, -1
			d.known[m.Name] = &m
			return
		}
		if is.State != m.State {
			is.State, is.ChangedMS = m.State, now
		}
	}
	if o := t.Out; o != nil {
		state := topology.Snapshotting
		switch {
		case o.State == slotmove.Frozen:
			state = topology.Frozen
		case o.State == slotmove.Given:
			state = topology.Granted
		case d.out != nil && d.out.streams:
			state = topology.Streaming
		}
		id := slotmove.ID{Source: t.Shard, Number: o.Number}
		meet(topology.Move{Name: id.String(), Away: true, Slots: o.Slots, Source: t.Shard, Target: o.Target, State: state})
	}
	for i := range t.In {
		in := &t.In[i]
		state := topology.Snapshotting
		switch {
		case in.Ready:
			state = topology.Frozen
		case in.At.Index > 0:
			state = topology.Streaming
		}
		meet(topology.Move{Name: in.Move.String(), Slots: in.Slots, Source: in.Move.Source, Target: t.Shard, State: state})
	}
	for name, m := range d.known {
		if there[name] {
			continue
		}
		delete(d.known, name)
		d.over(m, t, now)
	}
}

// sourceEnded is the message of a move to this shard that has failed for a reason that the source knows.
const sourceEnded = "the source has ended the move"

// over records a move that has ended. To the target a move that is cancelled has failed, as in Valkey.
func (d *Driver) over(m *topology.Move, t *slotmove.Table, now int64) {
	// A follower applies several entries at once, and may not see that the slots were given.
	taken := m.State == topology.Granted || len(cluster.Without(m.Slots, t.Owned)) > 0
	if !m.Away {
		taken = slices.ContainsFunc(t.Met, func(is slotmove.Met) bool {
			return slotmove.ID{Source: is.Source, Number: is.Number}.String() == m.Name && is.Taken
		})
	}
	switch m.ChangedMS = now; {
	case taken:
		m.State, m.Message = topology.Succeeded, ""
	case m.Message != "" || !m.Away:
		m.State, m.Message = topology.Failed, cmp.Or(m.Message, sourceEnded)
	default:
		m.State = topology.Cancelled
	}
	m.Left = 0
	d.past = append([]topology.Move{*m}, d.past[:min(len(d.past), mostPast-1)]...)
}

// about changes the record of a move.
func (d *Driver) about(id slotmove.ID, change func(m *topology.Move)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m := d.known[id.String()]; m != nil {
		change(m)
	}
}

// sent records bytes that are about to be sent, and what is left behind them.
func (d *Driver) sent(o *outgoing, n, left int) {
	d.about(o.id, func(m *topology.Move) { m.Sent, m.Left = m.Sent+int64(n), int64(left) })
}

// acked records a message of the other shard.
func (d *Driver) acked(id slotmove.ID) {
	d.about(id, func(m *topology.Move) { m.AckedMS = time.Now().UnixMilli() })
}

// held records that clients go on after a freeze.
func (d *Driver) held(o *outgoing) {
	ms := max(nowMS()-o.view.FrozeMS, 0)
	d.about(o.id, func(m *topology.Move) { m.FrozenMS += ms })
}

// fail has a move end, for a reason.
func (d *Driver) fail(o *outgoing, why string) {
	d.about(o.id, func(m *topology.Move) { m.Message = why })
	o.view.Stop = true
}
