package slotmove

// FreezeMS is how long after freeze a leader of the source writes thaw, and how long after freeze commands
// on given slots wait for take. A second is promised: the rest is for the thaw entry.
const FreezeMS = 800

// PauseMS is how long slots are served after thaw, before they are frozen again. Without it a silent target
// has commands wait for all freezes together.
const PauseMS = 2000

// MaxThaws is how often a move may be thawed before it is cancelled.
const MaxThaws = 5

// Report is the target's state of a move, in an answer to the source. It is made from applied entries.
type Report struct {
	Arrived bool // the staging exists
	At      Place
	Ready   bool
	Digest  Digest
	Taken   bool
	// Refused says that the target will not take the move: it has dropped it, or may not begin it.
	Refused bool
}

// Report returns this shard's report about a move to it.
func (t *Table) Report(id ID) Report {
	if i := t.in(id); i >= 0 {
		in := &t.In[i]
		return Report{Arrived: true, At: in.At, Ready: in.Ready, Digest: in.Digest}
	}
	_, met := t.met(id.Source)
	return Report{Taken: met.Number == id.Number && met.Taken, Refused: met.Number > id.Number || met.Number == id.Number && !met.Taken}
}

// Status is the source's state of a move, in an answer to the target. Any member of the source may give it
// from applied entries: Over and Given stay true.
type Status struct {
	// Over says that the move was cancelled, or that its target has taken it. A target that has not taken it
	// drops it.
	Over bool
	// Given says that the target may take the slots. The rest is for its take entry.
	Given             bool
	End               Place
	FreezeMS          int64
	Generation, Token int64
}

// Status returns this shard's status of a move away. A number that its log has not reached is not over.
func (t *Table) Status(number int64) Status {
	switch o := t.Out; {
	case number > t.Last:
		return Status{}
	case o == nil || o.Number != number:
		return Status{Over: true}
	case o.State == Given:
		return Status{Given: true, End: o.End, FreezeMS: o.FreezeMS, Generation: o.Generation, Token: o.Token}
	}
	return Status{}
}

// Take returns the entry by which the target takes a given move. clockMS is the target's clock.
func (s *Status) Take(id ID, clockMS int64) *Entry {
	return &Entry{Kind: Take, Move: id, To: s.End, FreezeMS: s.FreezeMS, Generation: s.Generation, Token: s.Token, ClockMS: clockMS}
}

// Step is the next step of a leader.
type Step uint8

const (
	Wait        Step = iota
	AskArrive        // ask the target to write arrive
	CutAnew          // write leave again: this leader cannot go on from the target's place
	Send             // send the target the stream from Report.At
	WriteFreeze      // write freeze, and hold the slots from now on
	AskReady         // send the target the place of freeze and the digest, and ask it to write ready
	WriteThaw
	WriteGive
	AskTake // send the target the status, and ask it to write take
	WriteDrop
	WriteCancel
	WriteTake
)

// View is the knowledge of the source's leader about the move away. It is not in the log: a new leader
// begins with the zero value.
type View struct {
	NowMS int64
	// Asked says that the target has answered this leader. Report is its newest answer.
	Asked  bool
	Report Report
	// Reaches says that this leader can send the stream from Report.At: it has the cut, or the cut has
	// arrived and its log reaches back to there.
	Reaches bool
	// Near says that the target is so near to the end of the stream that the slots may be frozen.
	Near bool
	// FrozeMS is when this leader wrote freeze; 0: another leader did. Digest is the slots' at freeze.
	FrozeMS int64
	Digest  Digest
	// ThawMS is when this leader's newest thaw was committed; 0: it has written no thaw.
	ThawMS int64
	// Stop says that the move is to be cancelled.
	Stop bool
}

// Next returns the next step of the source's leader for the move away. It may be called at any time, and
// returns the same step until something has changed.
func (t *Table) Next(v *View) Step {
	switch o := t.Out; {
	case o == nil:
		return Wait
	case o.State == Given:
		if v.Asked && v.Report.Taken {
			return WriteDrop
		}
		return AskTake
	case v.Stop || v.Asked && v.Report.Refused || o.Thaws >= MaxThaws:
		return WriteCancel
	case o.State == Frozen:
		return o.nextFrozen(v)
	case !v.Asked || !v.Report.Arrived:
		return AskArrive
	case !v.Reaches:
		return CutAnew
	case !v.Near:
		return Send
	case v.ThawMS != 0 && v.NowMS-v.ThawMS < PauseMS:
		return Wait
	}
	return WriteFreeze
}

// nextFrozen is Next while the slots are frozen. A new leader thaws: it does not know for how long they are.
func (o *Out) nextFrozen(v *View) Step {
	switch r := &v.Report; {
	case v.FrozeMS == 0 || v.NowMS-v.FrozeMS >= FreezeMS:
		return WriteThaw
	case !v.Asked:
		return AskReady
	case r.At.Compare(o.End) < 0:
		return Send
	case r.At == o.End && r.Ready:
		if r.Digest != v.Digest {
			return WriteCancel
		}
		return WriteGive
	}
	return AskReady
}

// NextIn returns the next step of the target's leader for a move to its shard: Wait, WriteTake, or
// WriteDrop. s is the newest status from the source. stop says that this shard wants to end the move.
func (in *In) NextIn(s *Status, stop bool) Step {
	switch {
	case s.Given:
		return WriteTake
	case s.Over || stop && !in.Ready:
		return WriteDrop
	}
	return Wait
}
