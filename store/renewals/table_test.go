package renewals

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// check verifies the invariants of tables; keepers are all keepers in them.
func check(t *testing.T, tables []*Table, keepers []*Keeper) {
	t.Helper()
	sums := map[*Keeper]int{}
	for _, table := range tables {
		all, chained := 0, 0
		table.Each(func(slot int, r Renewal) {
			all++
			if bound := table.bounds.Of(slot >> groupBits); bound > r.AtMS {
				require.Fail(t, "a bound is too high", "slot %d at %d, bound %d", slot, r.AtMS, bound)
			}
		})
		require.Equal(t, table.count, all)
		for number, c := range table.chains {
			before, n := uint32(0), 0
			for next := c.first; next != 0; n++ {
				e := table.entries.At(int(next - 1))
				if e.keeper != uint32(number)+1 || e.prev != before {
					require.Fail(t, "a chain is broken", "entry %d of chain %d has keeper %d, and %d before it, not %d", next, number, e.keeper, e.prev, before)
				}
				before, next = next, e.next
			}
			require.Equal(t, c.count, n)
			chained += n
			if c.of != nil {
				require.NotZero(t, n)
				sums[c.of] += n
				got, ok := c.of.numberIn(table)
				require.True(t, ok)
				require.EqualValues(t, number, got)
			}
		}
		require.Equal(t, all, chained)
	}
	for _, k := range keepers {
		require.Equal(t, sums[k], k.Len())
		if k.Len() == 0 {
			require.Empty(t, k.in)
		}
	}
}

// model is a dict with numbers as keys, some of them with renewals.
type model struct {
	keys []int
	of   map[int]Renewal
}

// slots returns the renewals by slot.
func (m *model) slots() map[int]Renewal {
	all := map[int]Renewal{}
	for slot, key := range m.keys {
		if r, ok := m.of[key]; ok {
			all[slot] = r
		}
	}
	return all
}

// due calls First for all due groups, and returns the keys.
func (m *model) due(dueMS, untilMS int64, nextMS func(key int) int64) map[int]bool {
	visited, falls := map[int]bool{}, map[int]bool{}
	for slot, r := range m.slots() {
		if r.AtMS <= dueMS {
			falls[slot>>groupBits] = true
		}
	}
	for slot, r := range m.slots() {
		key := m.keys[slot]
		if !falls[slot>>groupBits] || r.AtMS > untilMS {
			continue
		}
		visited[key] = true
		if r.AtMS = nextMS(key); r.AtMS == 0 {
			delete(m.of, key)
		} else {
			m.of[key] = r
		}
	}
	return visited
}

// TestTables runs random operations on tables and on models.
func TestTables(t *testing.T) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	keepers := []*Keeper{nil, {Of: "a"}, {Of: "b"}, {Of: "c"}}
	tables, models := []*Table{{}, {}}, []*model{{of: map[int]Renewal{}}, {of: map[int]Renewal{}}}
	now, last := int64(1000), 0
	for step := range 6000 {
		i := random.IntN(2)
		table, m := tables[i], models[i]
		renewal := func() Renewal {
			return Renewal{Keeper: keepers[random.IntN(4)], AtMS: now + random.Int64N(100), Pin: random.Uint32() & MaxPin, Doubted: random.IntN(2) == 0}
		}
		growing := step/1500%2 == 0
		switch n := random.IntN(100); {
		case n < 40 && growing || n < 10:
			last++
			m.keys = append(m.keys, last)
			if random.IntN(3) > 0 {
				m.of[last] = renewal()
				require.True(t, table.Set(len(m.keys)-1, m.of[last]))
			}
		case n < 50 && len(m.keys) > 0: // the last entry takes the place of the removed one
			slot, end := random.IntN(len(m.keys)), len(m.keys)-1
			_, had := m.of[m.keys[slot]]
			require.Equal(t, had, table.Moved(slot, end))
			delete(m.of, m.keys[slot])
			m.keys[slot] = m.keys[end]
			m.keys = m.keys[:end]
		case n < 70 && len(m.keys) > 0:
			slot := random.IntN(len(m.keys))
			key := m.keys[slot]
			r, had := m.of[key]
			switch random.IntN(3) {
			case 0:
				require.Equal(t, had, table.Remove(slot))
				delete(m.of, key)
			case 1:
				if table.Doubt(slot); had {
					r.Doubted = true
					m.of[key] = r
				}
			default:
				m.of[key] = renewal()
				require.Equal(t, !had, table.Set(slot, m.of[key]))
			}
		case n < 75: // a keeper ends
			k := keepers[1+random.IntN(3)]
			seen := 0
			table.EachOf(k, 0, func(int, Renewal) { require.Fail(t, "none is to be visited") })
			visited := table.EachOf(k, 1000, func(slot int, r Renewal) {
				seen++
				require.Equal(t, k, r.Keeper)
				if slot%2 == 0 {
					table.Remove(slot)
					return
				}
				r.Keeper = nil
				table.Set(slot, r)
			})
			require.Equal(t, seen, visited)
			for slot, r := range m.slots() {
				if r.Keeper != k {
					continue
				}
				seen--
				if delete(m.of, m.keys[slot]); slot%2 == 1 {
					r.Keeper = nil
					m.of[m.keys[slot]] = r
				}
			}
			require.Zero(t, seen)
		case n < 76 && random.IntN(10) == 0:
			table.Clear()
			clear(m.of)
		default:
			now += random.Int64N(20)
			nextMS := func(key int) int64 {
				if key%5 == 0 {
					return 0
				}
				return now + int64(key%50) + 20
			}
			got, until := map[int]bool{}, now+random.Int64N(10)
			for {
				lastSlot := -1
				visited, ok := table.First(now, until, func(slot int, r Renewal) int64 {
					if want, ok := m.of[m.keys[slot]]; !ok || slot <= lastSlot || r != want {
						require.Fail(t, "a visit is wrong", "slot %d after %d: %+v, not %+v", slot, lastSlot, r, want)
					}
					lastSlot = slot
					got[m.keys[slot]] = true
					return nextMS(m.keys[slot])
				})
				if !ok {
					require.Zero(t, visited)
					break
				}
			}
			require.Equal(t, m.due(now, until, nextMS), got)
			require.Greater(t, table.FirstMS(), now)
		}
		if step%testkit.Steps(3, 1) != 0 {
			continue
		}
		found := map[int]Renewal{}
		table.Each(func(slot int, r Renewal) { found[slot] = r })
		if want := m.slots(); !maps.Equal(want, found) {
			require.Equal(t, want, found, "step %d", step)
		}
		check(t, tables, keepers[1:])
	}
}
