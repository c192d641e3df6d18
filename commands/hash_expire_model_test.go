package commands

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
	"lockserver/tests/testkit"
)

// modelField is a field of the model: a value, and a deadline or 0.
type modelField struct {
	val  string
	atMS int64
}

// modelHashes holds the hashes of one database.
type modelHashes map[string]map[string]modelField

func (m modelHashes) clone() modelHashes {
	c := modelHashes{}
	for key, h := range m {
		c[key] = maps.Clone(h)
	}
	return c
}

// hashModel plays commands on a fixture and on maps.
type hashModel struct {
	t    *testing.T
	f    *fixture
	rand *rand.Rand
	dbs  []modelHashes
	db   int
}

// expire removes overdue fields from the model.
func (m *hashModel) expire() {
	for _, db := range m.dbs {
		for key, h := range db {
			for name, field := range h {
				if field.atMS != 0 && field.atMS < m.f.nowMS {
					delete(h, name)
				}
			}
			if len(h) == 0 {
				delete(db, key)
			}
		}
	}
}

func (m *hashModel) key() string { return "h" + strconv.Itoa(m.rand.IntN(3)) }

// field returns one of a few fields, or one of many, so that a hash has more deadlines than fit into its
// slice.
func (m *hashModel) field() string {
	if m.rand.IntN(2) == 0 {
		return "f" + strconv.Itoa(m.rand.IntN(6))
	}
	return "g" + strconv.Itoa(m.rand.IntN(80))
}

// step plays one random command.
func (m *hashModel) step() {
	db, key, name := m.dbs[m.db], m.key(), m.field()
	h := db[key]
	field, has := h[name]
	set := func(v modelField) {
		if db[key] == nil {
			db[key] = map[string]modelField{}
		}
		db[key][name] = v
	}
	val := strconv.Itoa(m.rand.IntN(1000))
	ms := int64(m.rand.IntN(60))
	switch m.rand.IntN(16) {
	case 0, 1:
		m.f.client(1).do("HSET", key, name, val)
		set(modelField{val, 0})
	case 2, 3, 4:
		want := "[1]"
		switch {
		case !has:
			want = "[-2]"
		case ms == 0:
			want = "[2]"
			delete(h, name)
		default:
			h[name] = modelField{field.val, m.f.nowMS + ms}
		}
		m.want(want, "HPEXPIRE", key, fmt.Sprint(ms), "FIELDS", "1", name)
	case 5:
		m.want("1", "HSETEX", key, "PX", fmt.Sprint(ms+1), "FIELDS", "1", name, val)
		set(modelField{val, m.f.nowMS + ms + 1})
	case 6:
		m.want("1", "HSETEX", key, "KEEPTTL", "FIELDS", "1", name, val)
		set(modelField{val, field.atMS})
	case 7:
		n, _ := strconv.Atoi(field.val)
		m.want(strconv.Itoa(n+7), "HINCRBY", key, name, "7")
		set(modelField{strconv.Itoa(n + 7), field.atMS})
	case 8:
		want := map[bool]string{false: "[-1]", true: "[1]"}[field.atMS != 0]
		if !has {
			want = "[-2]"
		} else {
			h[name] = modelField{field.val, 0}
		}
		m.want(want, "HPERSIST", key, "FIELDS", "1", name)
	case 9:
		m.want(map[bool]string{false: "0", true: "1"}[has], "HDEL", key, name)
		delete(h, name)
	default:
		m.keyStep(key)
	}
	m.expire() // a hash that has become empty
}

// keyStep plays a command on whole keys or databases, or advances the clock.
func (m *hashModel) keyStep(key string) {
	db, other := m.dbs[m.db], m.key()
	h := db[key]
	switch m.rand.IntN(12) {
	case 0:
		if h != nil && other != key {
			m.want("+OK", "RENAME", key, other)
			db[other] = h
			delete(db, key)
		}
	case 1:
		to := m.rand.IntN(len(m.dbs))
		if h != nil && (other != key || to != m.db) {
			m.want("1", "COPY", key, other, "DB", strconv.Itoa(to), "REPLACE")
			m.dbs[to][other] = maps.Clone(h)
		}
	case 2:
		to := (m.db + 1) % len(m.dbs)
		moves := h != nil && m.dbs[to][key] == nil
		m.want(map[bool]string{false: "0", true: "1"}[moves], "MOVE", key, strconv.Itoa(to))
		if moves {
			m.dbs[to][key] = h
			delete(db, key)
		}
	case 3:
		m.want("+OK", "SWAPDB", "0", "1")
		m.dbs[0], m.dbs[1] = m.dbs[1], m.dbs[0]
	case 4:
		if m.rand.IntN(10) == 0 {
			m.want("+OK", "FLUSHDB")
			clear(db)
		}
	case 5:
		m.want("+OK", "SET", key, "a string")
		m.want("1", "DEL", key)
		delete(db, key)
	case 6:
		m.db = m.rand.IntN(len(m.dbs))
		m.f.client(1).db = m.f.store.DB(m.db)
	default:
		ms := int64(m.rand.IntN(8))
		if m.rand.IntN(2) == 0 {
			m.f.advance(ms)
		} else { // due fields are kept
			m.f.nowMS += ms
			m.f.store.SetNow(m.f.nowMS * 1000)
		}
		m.expire()
	}
}

func (m *hashModel) want(reply string, args ...string) {
	m.t.Helper()
	m.f.client(1).want(reply, args...)
}

// contentOf returns what commands can see of a fixture's databases.
func contentOf(f *fixture, n int) []modelHashes {
	var dbs []modelHashes
	for id := range n {
		db := f.store.DB(id)
		m := modelHashes{}
		var keys []string
		db.Keys().Each(func(key string, _ store.Ref) bool {
			keys = append(keys, key)
			return true
		})
		for _, key := range keys {
			r := db.Peek([]byte(key))
			h := map[string]modelField{}
			r.Hash().EachTimed(func(field, value []byte, atMS int64) bool {
				h[string(field)] = modelField{string(value), atMS}
				return true
			})
			m[key] = h
		}
		dbs = append(dbs, m)
	}
	return dbs
}

func cloneAll(dbs []modelHashes) []modelHashes {
	c := slices.Clone(dbs)
	for i := range c {
		c[i] = c[i].clone()
	}
	return c
}

// frozenContent returns the content of a snapshot.
func frozenContent(snap *store.Snapshot, n int) []modelHashes {
	var dbs []modelHashes
	for id := range n {
		m := modelHashes{}
		snap.Each(id, func(key string, r store.Ref) bool {
			h := map[string]modelField{}
			r.Hash().EachTimed(func(field, value []byte, atMS int64) bool {
				h[string(field)] = modelField{string(value), atMS}
				return true
			})
			m[key] = h
			return true
		})
		dbs = append(dbs, m)
	}
	return dbs
}

// TestHashFieldsAgainstModel: random commands on hashes with deadlines have the same results as on maps. That
// holds at every moment, in an earlier snapshot that another goroutine reads meanwhile, and after a replay of
// the effects.
func TestHashFieldsAgainstModel(t *testing.T) {
	seed := testkit.Seed(t) % 1_000_000_000
	for round := range testkit.Steps(5, 12) {
		r := rand.New(rand.NewPCG(seed, uint64(round)))
		f := newHashes(t)
		m := &hashModel{t: t, f: f, rand: r}
		const dbs = 3
		for range dbs {
			m.dbs = append(m.dbs, modelHashes{})
		}
		var effects []store.Effect
		for range 6 {
			for f.store.ExpireDue(1000) { // so that the snapshot has no overdue fields
			}
			effects = append(effects, f.store.TakeEffects()...)
			want := cloneAll(m.dbs)
			snap := f.store.Cut()
			frozen := make(chan []modelHashes)
			go func() { frozen <- frozenContent(snap, dbs) }()
			for range 250 {
				m.step()
			}
			require.Equal(t, want, <-frozen)
			snap.Release()
			require.Equal(t, m.dbs, contentOf(f, dbs))
		}
		effects = append(effects, f.store.TakeEffects()...)
		replayed := newReplay(f, effects)
		for _, st := range []*store.Store{f.store, replayed.store} { // only one of the stores may have met an overdue field
			for st.ExpireDue(1000) {
			}
		}
		require.Equal(t, m.dbs, contentOf(replayed, dbs))
		require.Equal(t, f.store.DB(0).Keys().TimedHashes(), replayed.store.DB(0).Keys().TimedHashes())
	}
}
