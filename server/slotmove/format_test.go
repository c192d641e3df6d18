package slotmove

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
)

// examples has an entry of each kind, with all fields that any kind uses.
func examples() (all []*Entry) {
	for kind := Leave; kind <= Cancel; kind++ {
		all = append(all, &Entry{Kind: kind, Move: ID{"s1", 7}, Peer: "s2", Slots: []cluster.Range{{First: 1, Last: 3}, {First: 16383, Last: 16383}},
			From: Place{4, 0, 2}, To: Place{4, 9, 0}, Digest: Digest{1, 2, 19: 3}, ClockMS: 1 << 50, FreezeMS: -5, Generation: 3, Token: 1 << 40,
			Cancelled: kind == Drop, Effects: []byte("effects")})
	}
	return all
}

func FuzzParseEntry(f *testing.F) {
	for _, e := range examples() {
		f.Add(e.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEntry(b)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := ParseEntry(e.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, e, again)
		table := exampleTable()
		_, err = table.Apply(100, e)
		if err != nil {
			require.ErrorIs(t, err, ErrVoid)
			require.Equal(t, exampleTable(), table, "a void entry changes nothing")
		}
	})
}

// exampleTable has a move away and a move here, and remembers others.
func exampleTable() *Table {
	t := New("s1", []cluster.Range{{First: 0, Last: 99}, {First: 16383, Last: 16383}})
	t.Last, t.Generation = 7, 4
	t.Out = &Out{Number: 7, Target: "s2", Slots: []cluster.Range{{First: 4, Last: 5}}, State: Frozen, Cut: 10, Thaws: 1, End: Place{10, 20, 0}, FreezeMS: 9}
	t.In = []In{{Move: ID{"s3", 2}, Slots: []cluster.Range{{First: 200, Last: 200}}, At: Place{3, 4, 0}, Ready: true, Digest: Digest{7}}}
	t.Met = []Met{{"s2", 1, true}, {"s3", 2, false}}
	t.Sent = []Sent{{[]cluster.Range{{First: 300, Last: 301}}, "s2", 3}}
	return t
}

func FuzzParseTable(f *testing.F) {
	f.Add(exampleTable().AppendTo(nil))
	f.Add(New("", nil).AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := ParseTable(b)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := ParseTable(table.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, table, again)
	})
}

func TestFormats(t *testing.T) {
	for _, e := range examples() {
		b := e.AppendTo(nil)
		read, err := ParseEntry(b)
		require.NoError(t, err)
		require.Equal(t, e, read)
		for n := range b {
			_, err := ParseEntry(b[:n])
			require.ErrorIs(t, err, errDamaged, "the first %d bytes", n)
		}
		_, err = ParseEntry(append(b, 0))
		require.ErrorIs(t, err, errDamaged)
	}
	b := exampleTable().AppendTo(nil)
	read, err := ParseTable(b)
	require.NoError(t, err)
	require.Equal(t, exampleTable(), read)
	for n := range b {
		_, err := ParseTable(b[:n])
		require.ErrorIs(t, err, errDamaged, "the first %d bytes", n)
	}
	// Format, do not change.
	first := (&Entry{Kind: Freeze, Move: ID{"s1", 2}, ClockMS: 3}).AppendTo(nil)
	require.Equal(t, append([]byte{1, 4, 2, 's', '1', 4, 0, 0, 0, 0, 0, 0, 0, 0}, append(make([]byte, 20), 6, 0, 0, 0, 0, 0)...), first)
}
