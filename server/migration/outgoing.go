package migration

import (
	"slices"
	"time"

	"lockserver/internal/background"
	"lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/slotdata"
	"lockserver/server/slotmove"
	"lockserver/store"
)

const (
	// mostChunk is the size of a stage entry's part of the stream. The target's clients wait while it is
	// added.
	mostChunk = 64 << 10
	// mostPending bounds the chunks that the target has not confirmed.
	mostPending = 16
	// nearBytes is the size of the rest of the stream at which the slots may be frozen.
	nearBytes = 64 << 10
	// mostWaitBytes bounds the waits that go along with the slots. Clients are held meanwhile. The owners of
	// the others ask the target anew.
	mostWaitBytes = 4 << 20
	// mostBroken is how often a stream may break before the move is cancelled.
	mostBroken = 5
	// cleanedPerSlice is the number of keys that are looked at, while others wait, to delete moved ones.
	cleanedPerSlice = 1000
)

// outgoing is the knowledge of the source's leader about the move away.
type outgoing struct {
	id    slotmove.ID
	reign string
	slots *slotdata.Slots
	view  slotmove.View

	source  *slotdata.Source // nil: this leader has not cut the slots
	cut     int64            // the leave entry of the cut
	own     int64            // the newest leave entry that this leader has written; it may cut there
	at      slotmove.Place   // the end of the newest chunk
	pending []*slotmove.Entry
	hold    uint64    // of all clients, by this leader's last freeze (raft.Member.Hold); 0: there was none
	drained bool      // the last chunk of a freeze is among the chunks
	streams bool      // all pieces of the cut were sent; under Driver.mu
	broken  int       // how often a stream was broken
	left    bool      // Server.Left was called
	since   time.Time // when the target was first asked to let the move begin; zero: not yet
	trouble error     // of the last message to the target; nil: it was answered
}

// nowMS is a time that only rises, in milliseconds.
func nowMS() int64 { return time.Since(begun).Milliseconds() + 1 }

var begun = time.Now()

// leave writes the entry that begins a move, or a new cut.
func (d *Driver) leave(id slotmove.ID, shard string, slots []cluster.Range) error {
	err := d.member.MoveSlots(&slotmove.Entry{Kind: slotmove.Leave, Move: id, Peer: shard, Slots: slots})
	if err != nil {
		return err
	}
	reign := ""
	d.server.Slice(func() { reign = d.member.Reign() })
	t := d.member.Owned.Table()
	if t == nil || t.Out == nil || t.Out.Number != id.Number || reign == "" {
		return nil
	}
	out := d.outgoing(reign, t)
	d.mu.Lock()
	out.own = t.Out.Cut
	d.mu.Unlock()
	return nil
}

// outgoing returns the knowledge about the move away in this reign.
func (d *Driver) outgoing(reign string, t *slotmove.Table) *outgoing {
	id := slotmove.ID{Source: t.Shard, Number: t.Out.Number}
	d.mu.Lock()
	was := d.out
	if was == nil || was.id != id || was.reign != reign {
		d.out = &outgoing{id: id, reign: reign, slots: slotdata.SlotsOf(t.Out.Slots)}
	}
	out := d.out
	d.mu.Unlock()
	if was != nil && was != out {
		d.server.Slice(func() { was.end(d) })
	}
	return out
}

// end frees the cut, and ends the stream. Under the lock of the server.
func (o *outgoing) end(d *Driver) {
	if o.source != nil {
		d.server.Follow(nil)
		o.source.End()
		o.source = nil
	}
}

// leaving does the next step of the move away.
func (d *Driver) leaving(reign string, t *slotmove.Table) (more bool) {
	o := d.outgoing(reign, t)
	d.mu.Lock()
	own := o.own
	d.mu.Unlock()
	if t.Out.State == slotmove.Leaving && own == t.Out.Cut && o.cut != own {
		d.cut(o, t.Out)
	}
	v := &o.view
	v.NowMS = nowMS()
	if o.source != nil && o.source.Broken() {
		d.server.Slice(func() { o.end(d) })
		if o.broken++; o.broken >= mostBroken {
			d.fail(o, "the slots change faster than they can be sent")
		}
	}
	if t.Out.State == slotmove.Given {
		d.given(o, t)
	}
	o.prune()
	v.Reaches = o.reaches(t.Out.Cut)
	v.Near = v.Reaches && o.near()
	return d.do(t.Next(v), o, t)
}

// cut takes the cut of the slots, and begins the stream.
func (d *Driver) cut(o *outgoing, out *slotmove.Out) {
	var snap *store.Snapshot
	var source *slotdata.Source
	d.server.Slice(func() {
		o.end(d)
		if d.member.Reign() != o.reign {
			return
		}
		d.server.HandOn()
		snap = d.server.Data().Cut()
		source = slotdata.NewSource(o.slots, d.value)
		d.server.Follow(source)
		d.server.EndUnit()
	})
	if source == nil {
		return
	}
	o.source, o.cut, o.pending, o.drained = source, out.Cut, nil, false
	o.at = slotmove.Place{Cut: out.Cut}
	d.server.Background(func() {
		err := slotdata.Send(snap, o.slots, func(int) { background.Breathe() }, source.Piece)
		d.server.Slice(func() { snap.Release() })
		if err == nil {
			source.Whole()
		}
	})
}

// reaches reports whether this leader can send the stream from the target's place.
func (o *outgoing) reaches(cut int64) bool {
	if o.source == nil || o.cut != cut {
		return false
	}
	from := o.at
	if len(o.pending) > 0 {
		from = o.pending[0].From
	}
	at := o.view.Report.At
	return at == from || at.Cut < cut && from == slotmove.Place{Cut: cut}
}

// prune forgets the chunks that the target has.
func (o *outgoing) prune() {
	n := 0
	for n < len(o.pending) && o.pending[n].To.Compare(o.view.Report.At) <= 0 {
		n++
	}
	o.pending = o.pending[n:]
}

// near reports whether little of the stream is left.
func (o *outgoing) near() bool {
	_, left, whole := o.source.Take(0)
	return whole && left < nearBytes && len(o.pending) <= 1
}

// do does a step. It reports whether another step can follow at once.
func (d *Driver) do(step slotmove.Step, o *outgoing, t *slotmove.Table) (more bool) {
	entry := func(kind slotmove.Kind) *slotmove.Entry { return &slotmove.Entry{Kind: kind, Move: o.id} }
	switch step {
	case slotmove.AskArrive:
		return d.askArrive(o, t)
	case slotmove.CutAnew:
		return d.leave(o.id, t.Out.Target, t.Out.Slots) == nil
	case slotmove.Send:
		return d.send(o, t)
	case slotmove.WriteFreeze:
		return d.freeze(o, t)
	case slotmove.AskReady:
		return d.askReady(o, t)
	case slotmove.WriteThaw:
		err := d.propose(entry(slotmove.Thaw))
		if err == nil {
			d.held(o)
			o.view.FrozeMS, o.view.ThawMS, o.drained = 0, nowMS(), false
		}
		return err == nil
	case slotmove.WriteGive:
		e := entry(slotmove.Give)
		e.To = t.Out.End
		d.server.Slice(func() { e.Token = d.server.LastToken() })
		return d.propose(e) == nil
	case slotmove.AskTake:
		d.askTake(o, t)
		return o.view.Report.Taken
	case slotmove.WriteDrop:
		return d.clean(o) && d.propose(entry(slotmove.Drop)) == nil
	case slotmove.WriteCancel:
		if t.Out.Thaws >= slotmove.MaxThaws {
			d.fail(o, "the other shard was not ready in time, several times")
		} else if o.view.FrozeMS != 0 && o.view.Report.Ready && o.view.Report.Digest != o.view.Digest {
			d.fail(o, "the data at the other shard is not the same")
		}
		o.view.FrozeMS = 0
		return d.propose(entry(slotmove.Cancel)) == nil
	}
	return false
}

// askArrive asks the target to let the move begin. A target that does not want it for long ends the move.
func (d *Driver) askArrive(o *outgoing, t *slotmove.Table) bool {
	if o.since.IsZero() {
		o.since = time.Now()
	}
	d.ask(o, t, &slotmove.Entry{Kind: slotmove.Arrive, Move: o.id, Slots: t.Out.Slots})
	if o.view.Report.Arrived {
		return true
	}
	if o.view.Report.Refused {
		d.fail(o, "the other shard does not take the slots")
	} else if time.Since(o.since) > refusedFor {
		why := "the other shard has not let the move begin"
		if o.trouble != nil {
			why += ": " + o.trouble.Error()
		}
		d.fail(o, why)
	}
	return false
}

// ask sends entries to the target, and takes its report.
func (d *Driver) ask(o *outgoing, t *slotmove.Table, entries ...*slotmove.Entry) (ok bool) {
	return d.request(o, t, &slotmove.Request{Entries: entries})
}

// request sends a request to the target, and takes its report.
func (d *Driver) request(o *outgoing, t *slotmove.Table, r *slotmove.Request) (ok bool) {
	limit := sendFor
	if v := &o.view; v.FrozeMS != 0 && !o.left {
		limit = min(limit, max(time.Duration(slotmove.FreezeMS-(nowMS()-v.FrozeMS))*time.Millisecond, stepEvery))
	}
	r.Cluster, _ = d.peers.Name()
	r.To, r.Move = t.Out.Target, o.id
	answer, err := d.peers.Send(t.Out.Target, r, limit)
	if o.trouble = err; err != nil {
		d.server.Log().Debug("raft: the target of a move does not answer", "move", o.id, "cause", err)
		return false
	}
	o.view.Asked, o.view.Report = true, answer.Report
	d.acked(o.id)
	return true
}

// send sends the next part of the stream.
func (d *Driver) send(o *outgoing, t *slotmove.Table) bool {
	frozen := t.Out.State == slotmove.Frozen && o.view.FrozeMS != 0
	more := true
	for more && len(o.pending) < mostPending {
		more = d.chunk(o, t.Out, frozen)
	}
	if len(o.pending) == 0 {
		return false
	}
	before := o.view.Report.At
	entries := o.pending
	if frozen && o.drained { // the target need not be asked once more
		entries = append(slices.Clip(entries), &slotmove.Entry{Kind: slotmove.Ready, Move: o.id, To: t.Out.End})
	}
	return d.ask(o, t, entries...) && o.view.Report.At != before
}

// chunk adds the next chunk to those that are sent, and reports whether another one may follow. While the
// slots are frozen, the last chunk ends at the place of freeze.
func (d *Driver) chunk(o *outgoing, out *slotmove.Out, frozen bool) (more bool) {
	if frozen && o.drained {
		return false
	}
	d.server.Slice(func() {
		d.server.HandOn()
		o.source.Close(d.server.Data())
		d.server.EndUnit()
	})
	bytes, left, whole := o.source.Take(mostChunk)
	if whole && !o.streams {
		d.mu.Lock()
		o.streams = true
		d.mu.Unlock()
	}
	last := frozen && whole && left == 0
	if len(bytes) == 0 && !last {
		return false
	}
	to := o.at
	to.Piece++
	if last {
		to, o.drained = out.End, true
		o.view.Digest = o.source.Digest()
	}
	o.pending = append(o.pending, &slotmove.Entry{Kind: slotmove.Stage, Move: o.id, From: o.at, To: to, Effects: bytes})
	o.at = to
	d.sent(o, len(bytes), left)
	return left > 0
}

// freeze holds all clients, and writes freeze. If the clients were let go meanwhile, FrozeMS stays 0, and
// thaw is the next step.
func (d *Driver) freeze(o *outgoing, t *slotmove.Table) bool {
	began := nowMS()
	hold, err := d.member.Hold(raft.ForFreeze)
	if err != nil {
		return false
	}
	e := &slotmove.Entry{Kind: slotmove.Freeze, Move: o.id}
	d.server.Slice(func() { e.ClockMS = d.server.NowMS() })
	o.drained = false
	frozen := false
	if err = d.propose(e); err == nil {
		now := d.member.Owned.Table()
		frozen = now != nil && now.Frozen()
	}
	d.server.Slice(func() { frozen = frozen && d.member.Reign() == o.reign && d.member.Holds(hold) })
	if !frozen {
		d.member.EndHold(hold)
		return err == nil
	}
	o.view.FrozeMS, o.hold = began, hold
	return true
}

// askReady tells the target that the stream has come to its end.
func (d *Driver) askReady(o *outgoing, t *slotmove.Table) bool {
	ok := d.ask(o, t, &slotmove.Entry{Kind: slotmove.Ready, Move: o.id, To: t.Out.End})
	return ok && o.view.Report.Ready
}

// askTake asks the target to take the slots. The waits with NOTIFY go along while clients are held here.
func (d *Driver) askTake(o *outgoing, t *slotmove.Table) {
	status := t.Status(o.id.Number)
	r := &slotmove.Request{Entries: []*slotmove.Entry{status.Take(o.id, 0)}}
	d.server.Slice(func() {
		if d.member.Holds(o.hold) {
			r.Waits = d.server.QueuedWaits(o.slots, mostWaitBytes)
		}
	})
	d.request(o, t, r)
}

// given sends the waiting clients to the target, as soon as it has taken the slots, or as the time of the
// freeze is over.
func (d *Driver) given(o *outgoing, t *slotmove.Table) {
	v := &o.view
	if o.left || v.FrozeMS != 0 && !v.Report.Taken && nowMS()-v.FrozeMS < slotmove.FreezeMS {
		return
	}
	if !d.member.AwaitShown(t.Generation) {
		return
	}
	d.server.Slice(func() {
		o.end(d)
		d.server.Left(o.slots)
		d.server.EndUnit()
	})
	o.left = true
	if v.FrozeMS != 0 {
		d.held(o)
	}
	d.member.EndHold(o.hold)
}

// clean deletes the keys of the slots that the target has taken, and reports whether all are deleted, and the
// group has that in its log.
func (d *Driver) clean(o *outgoing) (done bool) {
	if !o.left {
		return false
	}
	var c *slotdata.Cleaning
	for leads := true; leads && !done; {
		d.server.Slice(func() {
			if leads = d.member.Reign() == o.reign; !leads {
				return
			}
			if c == nil {
				c = slotdata.NewCleaning(d.server.Data(), o.slots)
			}
			// plant:slots-clean
			done = c.Step(cleanedPerSlice)
			d.server.EndUnit()
		})
		background.Breathe()
	}
	return done && d.member.AwaitCommitted(o.reign)
}

// value returns the value of a key for the stream (slotdata.Value).
func (d *Driver) value(key []byte) (payload []byte, deadlineMS int64) {
	return slotdata.ValueOf(d.server.Data().DB(0), key)
}
