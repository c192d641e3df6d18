package slotmove

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

// pairOfTables is a source that owns the slots 0 to 9, and a target that owns 10 to 19.
type pairOfTables struct {
	t      *testing.T
	tables map[string]*Table
	index  int64
}

func newPair(t *testing.T) *pairOfTables {
	return &pairOfTables{t, map[string]*Table{
		"s1": New("s1", []cluster.Range{{First: 0, Last: 9}}), "s2": New("s2", []cluster.Range{{First: 10, Last: 19}}),
	}, 0}
}

// apply applies an entry of the move s1/1 and returns its effect, or its error as text.
func (p *pairOfTables) apply(shard string, e Entry) string {
	p.index++
	if e.Move == (ID{}) {
		e.Move = ID{"s1", 1}
	}
	before := p.tables[shard].Clone()
	effect, err := p.tables[shard].Apply(p.index, &e)
	if err != nil {
		require.ErrorIs(p.t, err, ErrVoid)
		require.Equal(p.t, before, p.tables[shard])
		return strings.TrimPrefix(err.Error(), "the entry is void: ")
	}
	return fmt.Sprint(effect)
}

func (p *pairOfTables) ok(shard string, e Entry, effect Effect, state State) {
	p.t.Helper()
	require.Equal(p.t, fmt.Sprint(effect), p.apply(shard, e))
	require.Equal(p.t, state, p.tables[shard].Slot(3))
}

// some are the slots of the move.
var some = []cluster.Range{{First: 2, Last: 4}}

// ready plays a move up to ready. The entry leave has the index 1, and freeze 5.
func (p *pairOfTables) ready() {
	p.ok("s1", Entry{Kind: Leave, Peer: "s2", Slots: some}, Cut, Leaving)
	p.ok("s2", Entry{Kind: Arrive, Slots: some}, MakeStaging, Arriving)
	p.ok("s2", Entry{Kind: Stage, From: Place{1, 0, 0}, To: Place{1, 0, 1}}, StageAnew, Arriving)
	p.ok("s2", Entry{Kind: Stage, From: Place{1, 0, 1}, To: Place{1, 1, 0}}, StageOn, Arriving)
	p.ok("s1", Entry{Kind: Freeze, ClockMS: 50}, HoldSlots, Frozen)
	p.ok("s2", Entry{Kind: Stage, From: Place{1, 1, 0}, To: Place{1, 5, 0}}, StageOn, Arriving)
	p.ok("s2", Entry{Kind: Ready, To: Place{1, 5, 0}, Digest: Digest{1}}, KeepStaging, Arriving)
}

// TestMove plays a move without faults, and moves the slots back.
func TestMove(t *testing.T) {
	p := newPair(t)
	p.ready()
	require.Equal(t, Report{Arrived: true, At: Place{1, 5, 0}, Ready: true, Digest: Digest{1}}, p.tables["s2"].Report(ID{"s1", 1}))
	require.Equal(t, Status{}, p.tables["s1"].Status(1))
	p.ok("s1", Entry{Kind: Give, To: Place{1, 5, 0}, Token: 77}, RedirectSlots, Given)
	status := p.tables["s1"].Status(1)
	require.Equal(t, Status{Given: true, End: Place{1, 5, 0}, FreezeMS: 50, Generation: 2, Token: 77}, status)
	take := status.Take(ID{"s1", 1}, 40)
	require.EqualValues(t, -10, take.ShiftMS())
	p.ok("s2", *take, TakeStaging, Owned)
	require.Equal(t, []cluster.Range{{First: 2, Last: 4}, {First: 10, Last: 19}}, p.tables["s2"].Owned)
	require.Equal(t, Report{Taken: true}, p.tables["s2"].Report(ID{"s1", 1}))
	require.Contains(t, p.apply("s1", Entry{Kind: Arrive, Move: ID{"s2", 1}, Slots: some}), "has slots of s1", "the data is not dropped yet")
	p.ok("s1", Entry{Kind: Drop}, DropData, Absent)
	require.Equal(t, Status{Over: true}, p.tables["s1"].Status(1))
	shard, generation := p.tables["s1"].Route(3)
	require.Equal(t, "s2", shard)
	require.EqualValues(t, 2, generation)
	require.EqualValues(t, 2, p.tables["s2"].Generation)

	p.ok("s1", Entry{Kind: Arrive, Move: ID{"s2", 1}, Slots: some}, MakeStaging, Arriving)
	p.ok("s1", Entry{Kind: Stage, Move: ID{"s2", 1}, From: Place{Cut: 2}, To: Place{2, 3, 0}}, StageAnew, Arriving)
	p.ok("s1", Entry{Kind: Ready, Move: ID{"s2", 1}, To: Place{2, 3, 0}}, KeepStaging, Arriving)
	p.ok("s1", Entry{Kind: Take, Move: ID{"s2", 1}, To: Place{2, 3, 0}, Generation: 9}, TakeStaging, Owned)
	require.Equal(t, []cluster.Range{{First: 0, Last: 9}}, p.tables["s1"].Owned)
	require.Empty(t, p.tables["s1"].Sent)
	require.EqualValues(t, 9, p.tables["s1"].Generation)
}

// TestVoid: entries that come too late, too early or twice are void, and change nothing.
func TestVoid(t *testing.T) {
	p := newPair(t)
	void := func(shard string, e Entry, part string) {
		t.Helper()
		require.Contains(t, p.apply(shard, e), part, "%s at %s", e.Kind, shard)
	}
	void("s1", Entry{Kind: Leave, Peer: "s2", Slots: []cluster.Range{{First: 9, Last: 10}}}, "does not own all")
	void("s1", Entry{Kind: Leave, Peer: "s1", Slots: some}, "does not own all")
	void("s1", Entry{Kind: Freeze}, "is not the move away")
	void("s2", Entry{Kind: Arrive, Slots: []cluster.Range{{First: 9, Last: 10}}}, "has slots of s2")
	void("s2", Entry{Kind: Stage, To: Place{1, 1, 0}}, "does not arrive")
	p = newPair(t)
	p.ready()
	void("s1", Entry{Kind: Leave, Peer: "s2", Slots: some}, "is not over")
	void("s1", Entry{Kind: Freeze}, "freeze while s1/1 is frozen")
	void("s1", Entry{Kind: Drop}, "drop while s1/1 is frozen")
	void("s1", Entry{Kind: Give, To: Place{1, 4, 0}}, "frozen at another place")
	void("s2", Entry{Kind: Arrive, Slots: some}, "is not newer than s1/1")
	void("s2", Entry{Kind: Arrive, Move: ID{"s1", 2}, Slots: some}, "waits for s1/1")
	void("s2", Entry{Kind: Arrive, Move: ID{"s3", 1}, Slots: some}, "waits for s1/1")
	void("s2", Entry{Kind: Stage, From: Place{1, 1, 0}, To: Place{1, 5, 0}}, "behind")
	void("s2", Entry{Kind: Stage, From: Place{1, 6, 0}, To: Place{1, 7, 0}}, "another place")
	void("s2", Entry{Kind: Ready, To: Place{1, 4, 0}}, "ready of s1/1")
	void("s2", Entry{Kind: Take, To: Place{1, 4, 0}}, "take of s1/1")
	void("s2", Entry{Kind: Drop}, "drop of s1/1")
	p.ok("s1", Entry{Kind: Thaw}, ServeSlots, Leaving)
	void("s1", Entry{Kind: Give, To: Place{1, 5, 0}}, "give while s1/1 is leaving")
	p.ok("s1", Entry{Kind: Leave, Peer: "s2", Slots: some}, Cut, Leaving)
	cut := p.tables["s1"].Out.Cut
	p.ok("s2", Entry{Kind: Stage, From: Place{Cut: cut}, To: Place{cut, 0, 1}}, StageAnew, Arriving)
	void("s2", Entry{Kind: Stage, From: Place{1, 5, 0}, To: Place{1, 9, 0}}, "behind")
	void("s2", Entry{Kind: Ready, To: Place{cut, 0, 1}}, "ready of s1/1")
	p.ok("s1", Entry{Kind: Freeze}, HoldSlots, Frozen)
	p.ok("s1", Entry{Kind: Give, To: p.tables["s1"].Out.End}, RedirectSlots, Given)
	void("s1", Entry{Kind: Thaw}, "thaw while s1/1 is given")
	void("s1", Entry{Kind: Cancel}, "cancel while s1/1 is given")
	p.ok("s2", Entry{Kind: Drop}, DropStaging, Absent)
	require.Equal(t, Report{Refused: true}, p.tables["s2"].Report(ID{"s1", 1}))
	p = newPair(t)
	p.ready()
	p.ok("s1", Entry{Kind: Cancel}, ServeSlots, Owned)
	require.Equal(t, Status{Over: true}, p.tables["s1"].Status(1))
	p.ok("s2", Entry{Kind: Drop, Cancelled: true}, DropStaging, Absent)
	void("s1", Entry{Kind: Leave, Peer: "s2", Slots: some}, "was used")
}

// TestNext: the steps of a leader that does not hear of the target, or begins anew.
func TestNext(t *testing.T) {
	p := newPair(t)
	s := p.tables["s1"]
	require.Equal(t, Wait, s.Next(&View{}))
	p.ok("s1", Entry{Kind: Leave, Peer: "s2", Slots: some}, Cut, Leaving)
	require.Equal(t, AskArrive, s.Next(&View{}))
	require.Equal(t, WriteCancel, s.Next(&View{Stop: true}))
	require.Equal(t, WriteCancel, s.Next(&View{Asked: true, Report: Report{Refused: true}}))
	arrived := View{Asked: true, Report: Report{Arrived: true}}
	require.Equal(t, CutAnew, s.Next(&arrived))
	arrived.Reaches = true
	require.Equal(t, Send, s.Next(&arrived))
	arrived.Near = true
	require.Equal(t, WriteFreeze, s.Next(&arrived))
	arrived.NowMS, arrived.ThawMS = 1+PauseMS-1, 1
	require.Equal(t, Wait, s.Next(&arrived))
	arrived.NowMS++
	require.Equal(t, WriteFreeze, s.Next(&arrived))
	p.ok("s1", Entry{Kind: Freeze}, HoldSlots, Frozen)
	require.Equal(t, WriteThaw, s.Next(&View{}), "a new leader thaws")
	end := s.Out.End
	v := View{NowMS: 1000, FrozeMS: 1000, Digest: Digest{1}}
	require.Equal(t, AskReady, s.Next(&v))
	v.Asked = true
	require.Equal(t, Send, s.Next(&v))
	v.Report = Report{Arrived: true, At: end}
	require.Equal(t, AskReady, s.Next(&v))
	v.Report.Ready, v.Report.Digest = true, Digest{1}
	require.Equal(t, WriteGive, s.Next(&v))
	v.Digest = Digest{2}
	require.Equal(t, WriteCancel, s.Next(&v))
	v.Digest, v.NowMS = Digest{1}, 1000+FreezeMS
	require.Equal(t, WriteThaw, s.Next(&v), "also if the target is ready")
	p.ok("s1", Entry{Kind: Give, To: end}, RedirectSlots, Given)
	require.Equal(t, AskTake, s.Next(&View{Stop: true}), "it is too late to cancel")
	require.Equal(t, WriteDrop, s.Next(&View{Asked: true, Report: Report{Taken: true}}))

	in := &In{}
	require.Equal(t, Wait, in.NextIn(&Status{}, false))
	require.Equal(t, WriteDrop, in.NextIn(&Status{}, true))
	require.Equal(t, WriteDrop, in.NextIn(&Status{Over: true}, false))
	in.Ready = true
	require.Equal(t, Wait, in.NextIn(&Status{}, true))
	require.Equal(t, WriteTake, in.NextIn(&Status{Given: true}, true))
}
