package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/keyslot"
	"lockserver/server/cluster"
	"lockserver/tests/testkit"
)

// randomShards shares all slots out over shards at random, in pieces of random length. A shard may be empty.
func randomShards(rng *rand.Rand) []shardSlots {
	shards := make([]shardSlots, 1+rng.IntN(7))
	owner := make([][]cluster.Range, len(shards))
	longest := 1 + rng.IntN(6000)
	for first := 0; first < keyslot.Count; {
		last := min(keyslot.Count-1, first+rng.IntN(longest))
		i := rng.IntN(len(shards))
		owner[i] = append(owner[i], cluster.Range{First: first, Last: last})
		first = last + 1
	}
	for i := range shards {
		slots, err := cluster.Ordered(owner[i])
		if err != nil {
			panic(err)
		}
		shards[i] = shardSlots{fmt.Sprint("s", i+1), slots}
	}
	return shards
}

// after makes the moves, and checks that a source has the slots that it gives, and that each slot has one
// owner at the end.
func after(t *testing.T, shards []shardSlots, moves []slotMove) []shardSlots {
	t.Helper()
	shards = slices.Clone(shards)
	find := func(name string) *shardSlots {
		return &shards[slices.IndexFunc(shards, func(s shardSlots) bool { return s.name == name })]
	}
	for _, m := range moves {
		from, to := find(m.from), find(m.to)
		require.NotEqual(t, m.from, m.to)
		require.NotEmpty(t, m.slots)
		require.Empty(t, cluster.Without(m.slots, from.slots), "%v", m)
		from.slots = cluster.Without(from.slots, m.slots)
		var err error
		to.slots, err = cluster.Ordered(slices.Concat(to.slots, m.slots))
		require.NoError(t, err)
	}
	var all []cluster.Range
	for _, s := range shards {
		all = append(all, s.slots...)
	}
	all, err := cluster.Ordered(all)
	require.NoError(t, err)
	require.Equal(t, []cluster.Range{cluster.All()}, all)
	return shards
}

func movedBy(moves []slotMove) (n int) {
	for _, m := range moves {
		n += countOf(m.slots)
	}
	return n
}

// TestPlans: of random layouts each plan moves no slot twice and loses none. A balance is even within one
// slot, and moves as few slots as can be.
func TestPlans(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range 300 {
		shards := randomShards(rng)
		moves := planBalance(shards)
		least, most, total := 1<<30, 0, 0
		for _, s := range after(t, shards, moves) {
			least, most = min(least, countOf(s.slots)), max(most, countOf(s.slots))
		}
		require.LessOrEqual(t, most-least, 1)
		for _, s := range shards { // slots above the larger share have to leave, and slots below the smaller share to come
			total += max(0, countOf(s.slots)-most)
		}
		missing := 0
		for _, s := range shards {
			missing += max(0, least-countOf(s.slots))
		}
		require.Equal(t, max(total, missing), movedBy(moves))
		require.Less(t, len(moves), max(2, len(shards)))

		most = 1 + rng.IntN(900)
		parts := portions(moves, most)
		require.Equal(t, movedBy(moves), movedBy(parts))
		for i, p := range parts {
			require.LessOrEqual(t, countOf(p.slots), most)
			require.True(t, i == 0 || parts[i-1].from <= p.from)
		}
		require.Equal(t, after(t, shards, moves), after(t, shards, parts))

		if len(shards) > 1 {
			name := shards[rng.IntN(len(shards))].name
			drain, err := planDrain(shards, name)
			require.NoError(t, err)
			checkDrained(t, shards, after(t, shards, drain), name)
		}
	}
}

// checkDrained checks that a shard has no slots, and that no slot has gone to a shard that had more than
// another one.
func checkDrained(t *testing.T, before, now []shardSlots, name string) {
	t.Helper()
	least, filled := 1<<30, 0
	for i, s := range now {
		if s.name == name {
			require.Empty(t, s.slots)
			continue
		}
		least = min(least, countOf(s.slots))
		if got := countOf(s.slots); got > countOf(before[i].slots) {
			filled = max(filled, got)
		}
	}
	require.LessOrEqual(t, filled, least+1)
}

// TestPlanOfSlots: slots go to a shard from where they are, or are refused.
func TestPlanOfSlots(t *testing.T) {
	parse := func(text string) []cluster.Range {
		all, err := cluster.ParseRanges(text)
		require.NoError(t, err)
		return all
	}
	shards := []shardSlots{{"s1", parse("0-99 200-299")}, {"s2", parse("100-199")}, {"s3", nil}}
	text := func(moves []slotMove, err error) string {
		if err != nil {
			return err.Error()
		}
		s := ""
		for _, m := range moves {
			s += fmt.Sprintf("%s>%s %s; ", m.from, m.to, cluster.RangesText(m.slots))
		}
		return s
	}
	require.Equal(t, "s1>s3 90-99 200; s2>s3 100-199; ", text(planSlots(shards, parse("90-200"), "", "s3")))
	require.Equal(t, "s1>s2 90-99; ", text(planSlots(shards, parse("90-110"), "s1", "s2")), "s2 has the others already")
	require.Equal(t, "the slots 100-110 are those of the shard s2", text(planSlots(shards, parse("90-110"), "s1", "s3")))
	require.Equal(t, "no shard has the slots 300", text(planSlots(shards, parse("299-300"), "", "s3")))
	require.Equal(t, "no shard has the name 's4'; there are: s1 s2 s3", text(planSlots(shards, parse("0"), "", "s4")))
	require.Equal(t, "s1>s3 95-99 200-299; ", text(planCount(shards, 105, "s1", "s3")))
	require.Equal(t, "--count 201: the shard s1 has 200 slots", text(planCount(shards, 201, "s1", "s3")))
	require.Equal(t, "--from and --to are the same shard", text(planCount(shards, 1, "s1", "s1")))
	require.Equal(t, "s2>s3 100-199; ", text(planDrain(shards, "s2")))
	_, err := planDrain(shards[:1], "s1")
	require.EqualError(t, err, "there is no other shard")
}
