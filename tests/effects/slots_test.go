package effects

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/persistence"
	"lockserver/persistence/digest"
	"lockserver/server"
	"lockserver/server/cluster"
	"lockserver/server/slotdata"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// slotRounds is the number of recordings.
const slotRounds = 6

// TestSlotsMove cuts half of the slots of a server at a random unit of random clients. The pieces of the cut
// come to a store with the other half, which must then be equal to the source. A second server starts with
// these, and gets what slotdata.Stream makes of the later units. At the end it has the data of the slots that
// the clients' server has.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	total := movedCounts{}
	for round := range uint64(slotRounds) {
		r := record(t, seed+round, true, nil)
		chance := rand.New(rand.NewPCG(seed+round, 63))
		m := newSlotMove(t, r, chance)
		m.play(chance.IntN(len(r.ends) / 2))
		if diff := m.ours(r.data).Diff(m.ours(testkit.ReadDataset(m.target)), 0); len(diff) > 0 {
			t.Fatalf("seed %d: what clients did | what the moved slots have\n%v", seed+round, diff)
		}
		total.add(&m.counts)
	}
	t.Logf("%+v", total)
	require.Positive(t, total.pieces)
	require.Positive(t, total.keys)
	require.Positive(t, total.passed)
	require.Positive(t, total.states, "no effect crossed slots")
}

// movedCounts says how much moved.
type movedCounts struct{ cuts, pieces, keys, passed, states int }

func (c *movedCounts) add(o *movedCounts) {
	c.cuts, c.pieces, c.keys, c.passed, c.states = c.cuts+o.cuts, c.pieces+o.pieces, c.keys+o.keys, c.passed+o.passed, c.states+o.states
}

// slotMove is a move of half of the slots. source is a server that repeats the units of a recording.
type slotMove struct {
	t              *testing.T
	r              *recording
	slots          *slotdata.Slots
	dir            string
	source, target *testkit.Client
	db             int // selected by source
	counts         movedCounts
}

// early is before any deadline, so that only effects remove keys.
func early() time.Time { return start().Add(-time.Hour) }

func newSlotMove(t *testing.T, r *recording, chance *rand.Rand) *slotMove {
	var ranges []cluster.Range
	for n := range keyslot.Count {
		if chance.IntN(2) == 0 {
			ranges = append(ranges, cluster.Range{First: n, Last: n})
		}
	}
	m := &slotMove{t: t, r: r, slots: slotdata.SlotsOf(ranges), dir: t.TempDir()}
	m.source = m.serve(m.dir)
	return m
}

// serve starts a server with the snapshot of a directory.
func (m *slotMove) serve(dir string) *testkit.Client {
	srv := startServer(m.t, server.Options{Clock: server.NewManualClock(early()), Dir: dir})
	return testkit.Dial(m.t, srv.Dial)
}

// ours returns the part of some data that moves.
func (m *slotMove) ours(all testkit.Dataset) testkit.Dataset {
	data := testkit.Dataset{}
	for place, entry := range all {
		if place.DB == 0 && m.slots.Has([]byte(place.Key)) {
			data[place] = entry
		}
	}
	return data
}

// play repeats all units. The slots are cut behind the unit at, and again when the stream breaks.
func (m *slotMove) play(at int) {
	var stream *slotdata.Stream
	begin := 0
	for i, end := range m.r.ends {
		unit := m.r.effects[begin:end]
		begin = end
		m.db = m.send(m.source, m.db, unit)
		if stream != nil {
			stream.Append(unit)
		}
		if i == at || stream != nil && stream.Broken() {
			m.cut()
			stream = slotdata.NewStream(m.slots, m.value, m.arrive)
		}
	}
}

// send sends a unit, and returns the database that is selected afterwards.
func (m *slotMove) send(c *testkit.Client, db int, unit []store.Effect) int {
	var batch [][]string
	for _, e := range unit {
		if e.DB != db {
			db = e.DB
			batch = append(batch, []string{"SELECT", strconv.Itoa(db)})
		}
		batch = append(batch, words(e))
	}
	for i, v := range c.Pipeline(batch) {
		require.False(m.t, v.IsError(), "%s: %s", testkit.Line(batch[i]), v)
	}
	return db
}

// value asks the source for a key (slotdata.Value).
func (m *slotMove) value(key []byte) (payload []byte, deadlineMS int64) {
	m.counts.states++
	if m.db != 0 {
		m.db = 0
		m.source.Do("SELECT", "0")
	}
	if v := m.source.Do("DUMP", string(key)); v.Str != "" {
		return []byte(v.Str), max(m.source.Do("PEXPIRETIME", string(key)).Int, 0)
	}
	return nil, 0
}

// arrive is a unit of the stream at the target.
func (m *slotMove) arrive(unit []store.Effect) {
	m.counts.passed += len(unit)
	m.send(m.target, 0, unit)
}

// cut moves the slots as they are now to a store with the other half, and starts the target with it.
func (m *slotMove) cut() {
	t := m.t
	require.Equal(t, "+OK", m.source.Do("SAVE").String())
	file, err := os.ReadFile(filepath.Join(m.dir, "dump.rdb"))
	require.NoError(t, err)
	load := func(keep func(key []byte) bool) *store.Store {
		st := store.New(16, store.Limits{})
		st.SetNow(early().UnixMicro())
		_, err := persistence.Load(bytes.NewReader(file), st, persistence.LoadOptions{Keep: keep})
		require.NoError(t, err)
		for id := 1; id < st.Len(); id++ {
			st.DB(id).Flush()
		}
		return st
	}
	all, other := load(nil), load(func(key []byte) bool { return !m.slots.Has(key) })
	staging := slotdata.NewStaging(other, m.slots)
	cut := all.Cut()
	require.NoError(t, slotdata.Send(cut, m.slots, nil, func(piece []byte) error {
		m.counts.pieces++
		return staging.Piece(early().UnixMicro(), piece)
	}))
	cut.Release()
	m.counts.keys += staging.DB().Len()
	for staging.Take(other, 3) > 0 {
	}
	require.Equal(t, exactOf(all), exactOf(other))

	dir := t.TempDir()
	cut = other.Cut()
	_, err = persistence.SaveFile(filepath.Join(dir, "dump.rdb"), cut, persistence.SaveOptions{Checksum: true, Version: "7.0.15"})
	require.NoError(t, err)
	cut.Release()
	m.counts.cuts++
	m.target = m.serve(dir)
}

func exactOf(st *store.Store) string {
	cut := st.Cut()
	defer cut.Release()
	d, _ := digest.Exact(cut, digest.ExactOptions{})
	return fmt.Sprintf("%x", d)
}
