package raft

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
)

// shopSlots are the slots of a shard that has moved nothing, and movedSlots those of a shard that has.
func shopSlots() *groupSlots {
	return &groupSlots{"shop", slotmove.New("s1", []cluster.Range{{First: 0, Last: 5}, {First: 9, Last: 9}})}
}

func movedSlots(t testing.TB) *groupSlots {
	s := shopSlots()
	leave := slotmove.Entry{Kind: slotmove.Leave, Move: slotmove.ID{Source: "s1", Number: 1}, Peer: "s2", Slots: []cluster.Range{{First: 2, Last: 4}}}
	s, _, _, err := s.step(7, moveEntry(&leave, 3, 4))
	require.NoError(t, err)
	return s
}

// TestSlotsFormat: the format of entries about slots, and of the text in snapshots, does not change. A text
// of an older version is read. A damaged text is refused.
func TestSlotsFormat(t *testing.T) {
	owned := shopSlots().owned()
	b := slotsEntry(258, owned.String(), 3, 4).appendTo(nil)
	require.Equal(t, "\x01\x05slots\x00\x02\x01\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00shop s1 0-5 9\n", string(b))
	step := slotmove.Entry{Kind: slotmove.Thaw, Move: slotmove.ID{Source: "s1", Number: 1}}
	b = moveEntry(&step, 3, 4).appendTo(nil)
	require.Equal(t, "\x01\x05moves\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00"+string(step.AppendTo(nil)), string(b))

	require.Equal(t, "1\nshop s1 0-5 9\n", shopSlots().text())
	moved := movedSlots(t)
	require.Equal(t, "moves\nshop\n"+string(moved.table.AppendTo(nil)), moved.text())
	for _, s := range []*groupSlots{nil, shopSlots(), moved} {
		got, err := parseSlots(s.text())
		require.NoError(t, err)
		require.Equal(t, s, got)
		name, table, err := ReadSlots(s.text())
		require.NoError(t, err)
		if s == nil {
			require.Nil(t, table)
			continue
		}
		require.Equal(t, "shop", name)
		require.Equal(t, s.table, table)
		require.Equal(t, s == moved, s.moved())
		for n := 1; n < len(s.text()); n++ {
			_, err := parseSlots(s.text()[:n])
			require.Error(t, err, "the first %d bytes of %q", n, s.text())
		}
	}
	for _, bad := range []string{"0\nshop s1 0-5\n", "-1\nshop s1 0-5\n", "x\nshop s1 0-5\n", "1\nshop s1 5-0\n", moved.text() + "x", "moves\nsh op" + moved.text()[len("moves\nshop"):],
		"moves\nshop\n" + string(shopSlots().table.AppendTo(nil))} {
		_, err := parseSlots(bad)
		require.ErrorContains(t, err, "damaged", "%q", bad)
	}
}

// FuzzSlots: a text of slots is an error, or has one form.
func FuzzSlots(f *testing.F) {
	f.Add(shopSlots().text())
	f.Add(movedSlots(f).text())
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSlots(text)
		if err != nil {
			return
		}
		again, err := parseSlots(s.text())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

// TestSlotsEntries: the slots of a configuration count once, and not beside moves. A step of a move needs
// slots. A void step changes nothing. A step that cannot be read stops the member.
func TestSlotsEntries(t *testing.T) {
	m, _ := leads(&slowTransfer{})
	meet := func(e *entry) error {
		if e.after.id == movesID {
			return openedMember{m, m.run}.moveSlots(7, e)
		}
		return m.Owned.meet(m, e)
	}
	step := func(kind slotmove.Kind) *entry {
		return moveEntry(&slotmove.Entry{Kind: kind, Move: slotmove.ID{Source: "s1", Number: 1}, Peer: "s2", Slots: []cluster.Range{{First: 2, Last: 4}}}, 3, 4)
	}
	require.ErrorIs(t, meet(step(slotmove.Leave)), errVoid)
	require.ErrorIs(t, meet(slotsEntry(1, "shop s1 0-5\n", 3, 4)), errVoid)
	require.Nil(t, m.Owned.now.Load())
	require.NoError(t, meet(slotsEntry(0, "shop s1 0-5\n", 3, 4)))
	require.ErrorIs(t, meet(slotsEntry(0, "shop s1 0-6\n", 3, 4)), errVoid)
	require.NoError(t, meet(slotsEntry(1, "shop s1 0-7\n", 3, 4)))
	generation, owned := m.Owned.Slots()
	require.EqualValues(t, 2, generation)
	require.Equal(t, cluster.Owned{Cluster: "shop", Shard: "s1", Slots: []cluster.Range{{First: 0, Last: 7}}}, owned)

	before := m.Owned.now.Load()
	require.ErrorIs(t, meet(step(slotmove.Thaw)), slotmove.ErrVoid)
	require.Same(t, before, m.Owned.now.Load())
	require.NoError(t, meet(step(slotmove.Leave)))
	require.Equal(t, slotmove.Owned, before.table.Slot(3), "readers keep what they have")
	require.Equal(t, slotmove.Leaving, m.Owned.now.Load().table.Slot(3))
	require.EqualValues(t, 7, m.Owned.now.Load().table.Out.Cut)
	require.ErrorIs(t, meet(slotsEntry(2, "shop s1 0-5\n", 3, 4)), errVoid)

	for _, bad := range []*entry{{after: place{movesID, 0}, bytes: []byte{9}}, slotsEntry(0, "shop", 3, 4)} {
		m, _ = leads(&slowTransfer{})
		require.Error(t, meet(bad))
		require.ErrorContains(t, m.Failed(), "a newer")
	}
}

// withOlder is an engine of a member that knows another one, which reports the form of the history.
type withOlder struct {
	*slowTransfer
	history int64
	started bool // just now: it runs this version, and has not reported anything
}

func (e withOlder) Status() Status {
	a, b := Observation{ID: "a", Version: "0.1.0"}, Observation{ID: "b", Reachable: true, Reported: true, Version: "0.0.9"}
	b.History = e.history
	if e.started {
		b.Version, b.Reported = a.Version, false
	}
	return Status{ID: "a", Leader: Peer{ID: "a"}, Peers: []Peer{{ID: "a"}, {ID: "b"}}, Observed: []Observation{a, b}}
}

// TestMoveBesideAnOlderVersion: no move begins beside a member that does not know moves. A move that has
// begun ends, and its slots may be cut anew. A member that has just started, and says nothing but its
// version, is no reason. A member that does not lead proposes nothing.
func TestMoveBesideAnOlderVersion(t *testing.T) {
	e := withOlder{&slowTransfer{}, historySlotMoves - 1, false}
	m, s := leads(e)
	for kind := slotmove.Leave; kind <= slotmove.Cancel; kind++ {
		err := m.MoveSlots(&slotmove.Entry{Kind: kind})
		switch kind {
		case slotmove.Leave, slotmove.Arrive:
			require.EqualError(t, err, "ERR slots cannot move while member 'b' runs an older version (0.0.9), which does not know moves")
		case slotmove.Freeze, slotmove.Give, slotmove.Take:
			require.ErrorIs(t, err, errNotHolden)
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, 5, e.count())
	for _, other := range []withOlder{{e.slowTransfer, historySlotMoves, false}, {e.slowTransfer, 0, true}} {
		m.engine = other
		require.NoError(t, m.MoveSlots(&slotmove.Entry{Kind: slotmove.Leave}))
	}
	m.engine = e
	m.Owned.now.Store(movedSlots(t))
	require.NoError(t, m.MoveSlots(&slotmove.Entry{Kind: slotmove.Leave, Move: slotmove.ID{Source: "s1", Number: 1}}))
	require.ErrorContains(t, m.MoveSlots(&slotmove.Entry{Kind: slotmove.Leave, Move: slotmove.ID{Source: "s1", Number: 2}}), "older version")
	s.Slice(func() { m.giveWay() })
	require.ErrorContains(t, m.MoveSlots(&slotmove.Entry{Kind: slotmove.Leave}), "does not lead")
	require.Equal(t, 8, e.count())
}
