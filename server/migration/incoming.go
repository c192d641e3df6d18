package migration

import (
	"time"

	"lockserver/commands"
	"lockserver/server/raft"
	"lockserver/server/slotmove"
	"lockserver/server/topology"
)

// Receive implements raft.Mover: it takes a message of a member of another shard.
func (d *Driver) Receive(message []byte) (answer []byte, err error) {
	r, err := slotmove.ParseRequest(message)
	if err != nil {
		return nil, commands.Error("ERR " + err.Error())
	}
	name, shard := d.peers.Name()
	t := d.member.Owned.Table()
	if r.Cluster != name || r.To != shard || t == nil || t.Shard != shard {
		return nil, commands.Error("ERR this is another shard")
	}
	if r.Move.Source == shard {
		return (&slotmove.Answer{Status: t.Status(r.Move.Number)}).AppendTo(nil), nil
	}
	d.target.Lock()
	defer d.target.Unlock()
	if err := d.write(r); err != nil {
		return nil, err
	}
	return (&slotmove.Answer{Report: d.member.Owned.Table().Report(r.Move)}).AppendTo(nil), nil
}

// write writes the steps that a source asks for. Steps that change nothing are no error: the report tells.
func (d *Driver) write(r *slotmove.Request) error {
	leads := false
	d.server.Slice(func() { leads = d.member.Reign() != "" })
	if !leads { // only a leader has applied all that is committed
		return commands.Error("ERR this member does not lead")
	}
	d.mu.Lock()
	d.heard[r.Move] = time.Now()
	d.mu.Unlock()
	d.acked(r.Move)
	for i := 0; i < len(r.Entries); {
		var stages []*slotmove.Entry // those in a row are written together
		for ; i < len(r.Entries) && r.Entries[i].Kind == slotmove.Stage; i++ {
			r.Entries[i].Move = r.Move
			stages = append(stages, r.Entries[i])
		}
		if len(stages) > 0 {
			if err := d.member.MoveSlots(stages...); err != nil && !raft.IsVoid(err) {
				return err
			}
			continue
		}
		r.Entries[i].Move = r.Move
		if err := d.writeOne(r.Entries[i], r.Waits); err != nil {
			return err
		}
		i++
	}
	return nil
}

// writeOne writes arrive, ready or take. The waits go along with take.
func (d *Driver) writeOne(e *slotmove.Entry, waits []slotmove.QueuedWait) error {
	switch e.Kind {
	case slotmove.Arrive:
		if err := d.endOlder(e.Move); err != nil {
			return err
		}
	case slotmove.Ready:
		d.server.Slice(func() {
			if s := d.member.Staging(e.Move); s != nil && s.Failed() == nil {
				e.Digest = s.Digest()
			}
		})
	case slotmove.Take:
		return d.take(e, waits)
	default:
		return commands.Error("ERR a source asks for no such step")
	}
	return d.propose(e)
}

// endOlder ends an older move from the same source, which is over: a source has one move away at a time.
func (d *Driver) endOlder(id slotmove.ID) error {
	t := d.member.Owned.Table()
	for i := range t.In {
		if old := t.In[i].Move; old.Source == id.Source && old.Number < id.Number {
			return d.propose(&slotmove.Entry{Kind: slotmove.Drop, Move: old, Cancelled: true})
		}
	}
	return nil
}

// take takes the slots with their waits, while all clients are held, and waits until clients are served here.
func (d *Driver) take(e *slotmove.Entry, waits []slotmove.QueuedWait) error {
	if d.member.Owned.Table().Report(e.Move).Taken {
		return nil
	}
	hold, err := d.member.Hold(raft.ForTake)
	if err != nil {
		return err
	}
	defer d.member.EndHold(hold)
	d.server.Slice(func() { e.ClockMS = d.server.NowMS() })
	if err = d.propose(e); err == nil {
		d.member.AwaitShown(d.member.Owned.Table().Generation)
		if d.member.Owned.Table().Report(e.Move).Taken {
			d.server.EnterWaits(waits, e.ShiftMS())
		}
	}
	return err
}

// arriving asks the source about a move to this shard that it is silent about.
func (d *Driver) arriving(in *slotmove.In) {
	d.mu.Lock()
	heard := d.heard[in.Move]
	if heard.IsZero() {
		heard = time.Now()
		d.heard[in.Move] = heard
	}
	d.mu.Unlock()
	var failed error
	d.server.Slice(func() {
		if s := d.member.Staging(in.Move); s != nil {
			failed = s.Failed()
		}
	})
	if failed == nil && time.Since(heard) < silentFor {
		return
	}
	status := slotmove.Status{}
	if time.Since(heard) >= silentFor {
		name, _ := d.peers.Name()
		answer, err := d.peers.Send(in.Move.Source, &slotmove.Request{Cluster: name, To: in.Move.Source, Move: in.Move}, silentFor)
		d.mu.Lock()
		d.heard[in.Move] = time.Now()
		d.mu.Unlock()
		if err != nil {
			d.server.Log().Debug("raft: the source of a move does not answer", "move", in.Move, "cause", err)
			return
		}
		status = answer.Status
	}
	d.target.Lock()
	defer d.target.Unlock()
	switch in.NextIn(&status, failed != nil) {
	case slotmove.WriteTake:
		_ = d.take(status.Take(in.Move, 0), nil)
	case slotmove.WriteDrop:
		if failed != nil {
			d.about(in.Move, func(m *topology.Move) { m.Message = failed.Error() })
		}
		_ = d.propose(&slotmove.Entry{Kind: slotmove.Drop, Move: in.Move, Cancelled: status.Over})
	}
}
