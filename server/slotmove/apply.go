package slotmove

import (
	"errors"
	"fmt"
	"slices"

	"lockserver/server/cluster"
)

// Effect is the change of the data that an applied entry asks for.
type Effect uint8

const (
	NoEffect      Effect = iota
	Cut                  // the leader that wrote the entry keeps the slots' data as of this entry, to send it
	MakeStaging          // an empty staging store for the move
	StageAnew            // the staging is emptied, then the entry's effects are applied to it
	StageOn              // the entry's effects are applied to the staging
	HoldSlots            // commands on the slots wait; nothing ends in them
	ServeSlots           // the slots are served again, with what is due in them
	KeepStaging          // the staging is not dropped without the source's word
	RedirectSlots        // the slots' waiting commands, waiters, subscribers and watchers are redirected after take
	TakeStaging          // the staging becomes data: Entry.ShiftMS is added to its leases, tokens rise above Entry.Token
	DropStaging          // the staging is deleted
	DropData             // the slots' data is deleted
)

// ErrVoid is wrapped by each error of Apply: the entry changes nothing. All members come to the same result.
var ErrVoid = errors.New("the entry is void")

// ErrGap is ErrVoid for a stage entry that does not begin where the staging ends.
var ErrGap = fmt.Errorf("%w: the stream goes on from another place", ErrVoid)

func void(format string, args ...any) (Effect, error) {
	return NoEffect, fmt.Errorf("%w: "+format, append([]any{ErrVoid}, args...)...)
}

// Apply applies a committed entry. index is its index in the log, which rises. An entry that came twice, or
// too late, is void.
func (t *Table) Apply(index int64, e *Entry) (Effect, error) {
	if e.Move.Source != t.Shard {
		return t.applyIn(e)
	}
	if e.Kind == Leave {
		return t.leave(index, e)
	}
	if t.Out == nil || t.Out.Number != e.Move.Number {
		return void("%s is not the move away from %s", e.Move, t.Shard)
	}
	return t.applyOut(index, e)
}

// leave begins a move, or a new cut of one.
func (t *Table) leave(index int64, e *Entry) (Effect, error) {
	switch o := t.Out; {
	case o != nil && o.Number == e.Move.Number && o.State == Leaving:
		o.Cut = index
		return Cut, nil
	case o != nil:
		return void("%s/%d is not over", t.Shard, o.Number)
	case e.Move.Number <= t.Last:
		return void("the number of %s was used", e.Move)
	case e.Peer == "" || e.Peer == t.Shard || !valid(e.Slots) || !covers(t.Owned, e.Slots):
		return void("%s does not own all slots of %s", t.Shard, e.Move)
	}
	t.Last = e.Move.Number
	t.Out = &Out{Number: e.Move.Number, Target: e.Peer, Slots: e.Slots, State: Leaving, Cut: index}
	return Cut, nil
}

// applyOut applies an entry of the move away.
func (t *Table) applyOut(index int64, e *Entry) (Effect, error) {
	o := t.Out
	was := o.State
	switch {
	case e.Kind == Freeze && was == Leaving:
		o.State, o.End, o.FreezeMS = Frozen, Place{Cut: o.Cut, Index: index}, e.ClockMS
		return HoldSlots, nil
	case e.Kind == Thaw && was == Frozen:
		o.State = Leaving
		o.Thaws++
		return ServeSlots, nil
	case e.Kind == Cancel && (was == Leaving || was == Frozen):
		t.Out = nil
		return ServeSlots, nil
	case e.Kind == Give && was == Frozen:
		if e.To != o.End {
			return void("%s is frozen at another place", e.Move)
		}
		t.Generation++
		t.Owned = cluster.Without(t.Owned, o.Slots)
		t.Sent = append(t.Sent, Sent{o.Slots, o.Target, t.Generation})
		o.State, o.Generation, o.Token = Given, t.Generation, e.Token
		return RedirectSlots, nil
	case e.Kind == Drop && was == Given:
		t.Out = nil
		return DropData, nil
	}
	return void("%s while %s is %s", e.Kind, e.Move, was)
}

// applyIn applies an entry of a move to this shard.
func (t *Table) applyIn(e *Entry) (Effect, error) {
	if e.Kind == Arrive {
		return t.arrive(e)
	}
	i := t.in(e.Move)
	if i < 0 {
		return void("%s does not arrive at %s", e.Move, t.Shard)
	}
	in := &t.In[i]
	switch {
	case e.Kind == Stage:
		return in.stage(e)
	case e.Kind == Ready && in.At == e.To && e.To.Index > 0:
		in.Ready, in.Digest = true, e.Digest
		return KeepStaging, nil
	case e.Kind == Take && in.Ready && in.At == e.To:
		t.Generation = max(t.Generation+1, e.Generation)
		t.Owned = cluster.Join(t.Owned, in.Slots)
		t.forgetSent(in.Slots)
		t.endIn(i, true)
		return TakeStaging, nil
	case e.Kind == Drop && (e.Cancelled || !in.Ready):
		t.endIn(i, false)
		return DropStaging, nil
	}
	return void("%s of %s, which is at %v", e.Kind, e.Move, in.At)
}

// arrive begins a staging. A source has one move away at a time. If a newer one comes while the staging of
// an older one is here, the older one is over: the leader writes drop for it, with Cancelled, and then
// arrive.
func (t *Table) arrive(e *Entry) (Effect, error) {
	at, met := t.met(e.Move.Source)
	if e.Move.Number <= met.Number {
		return void("%s is not newer than %s/%d", e.Move, met.Source, met.Number)
	}
	if !valid(e.Slots) || meets(t.Owned, e.Slots) || t.Out != nil && meets(t.Out.Slots, e.Slots) {
		return void("%s has slots of %s", e.Move, t.Shard)
	}
	for i := range t.In {
		if t.In[i].Move.Source == e.Move.Source || meets(t.In[i].Slots, e.Slots) {
			return void("%s waits for %s", e.Move, t.In[i].Move)
		}
	}
	now := Met{Source: e.Move.Source, Number: e.Move.Number}
	if met.Source == "" {
		t.Met = slices.Insert(t.Met, at, now)
	} else {
		t.Met[at] = now
	}
	t.In = append(t.In, In{Move: e.Move, Slots: e.Slots})
	slices.SortFunc(t.In, func(a, b In) int { return slices.Compare([]byte(a.Move.Source), []byte(b.Move.Source)) })
	return MakeStaging, nil
}

// stage goes on in the stream. An entry that the staging has already is void.
func (in *In) stage(e *Entry) (Effect, error) {
	effect := StageOn
	switch begin := (Place{Cut: e.From.Cut}); {
	case e.To.Compare(e.From) <= 0 || e.To.Cut != e.From.Cut || e.To.Compare(in.At) <= 0:
		return void("%v is behind %v", e.To, in.At)
	case e.From == begin && e.From.Cut > in.At.Cut:
		effect = StageAnew
	case e.From != in.At:
		return NoEffect, ErrGap
	}
	in.At, in.Ready, in.Digest = e.To, false, Digest{}
	return effect, nil
}

// endIn ends a move to this shard.
func (t *Table) endIn(i int, taken bool) {
	at, _ := t.met(t.In[i].Move.Source)
	t.Met[at].Taken = taken
	t.In = slices.Delete(t.In, i, i+1)
}

// forgetSent forgets where slots went that are owned now.
func (t *Table) forgetSent(slots []cluster.Range) {
	kept := t.Sent[:0]
	for _, s := range t.Sent {
		if s.Slots = cluster.Without(s.Slots, slots); len(s.Slots) > 0 {
			kept = append(kept, s)
		}
	}
	t.Sent = kept
}
