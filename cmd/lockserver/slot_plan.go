package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"lockserver/server/cluster"
)

// Which slots go to which shard: pure functions of the slots that the shards have now.

// shardSlots are the slots of a shard, in order.
type shardSlots struct {
	name  string
	slots []cluster.Range
}

// slotMove is a move of slots from one shard to another.
type slotMove struct {
	from, to string
	slots    []cluster.Range
}

// countOf returns the number of slots in ranges.
func countOf(all []cluster.Range) (n int) {
	for _, r := range all {
		n += r.Last - r.First + 1
	}
	return n
}

// cutSlots divides ranges: last has the highest n slots, and rest the others.
func cutSlots(all []cluster.Range, n int) (rest, last []cluster.Range) {
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		size := min(n, r.Last-r.First+1)
		if size > 0 {
			last = append(last, cluster.Range{First: r.Last - size + 1, Last: r.Last})
			r.Last -= size
			n -= size
		}
		if r.First <= r.Last {
			rest = append(rest, r)
		}
	}
	slices.Reverse(rest)
	slices.Reverse(last)
	return rest, last
}

// planBalance returns moves after which no shard has more than one slot more than another. No set of moves
// that does so moves fewer slots.
func planBalance(shards []shardSlots) []slotMove {
	total, order := 0, make([]int, len(shards))
	for i, s := range shards {
		total += countOf(s.slots)
		order[i] = i
	}
	// The shards with the most slots keep the rest of the division.
	slices.SortStableFunc(order, func(a, b int) int { return countOf(shards[b].slots) - countOf(shards[a].slots) })
	change := make([]int, len(shards))
	for rank, i := range order {
		share := total / len(shards)
		if rank < total%len(shards) {
			share++
		}
		change[i] = share - countOf(shards[i].slots)
	}
	return planChange(shards, change)
}

// planDrain returns moves after which a shard has no slots. The other shards only get slots: each slot goes
// to the shard that has the fewest.
func planDrain(shards []shardSlots, name string) ([]slotMove, error) {
	change := make([]int, len(shards))
	at := slices.IndexFunc(shards, func(s shardSlots) bool { return s.name == name })
	switch {
	case at < 0:
		return nil, errNoShard(shards, name)
	case len(shards) < 2:
		return nil, errors.New("there is no other shard")
	}
	has := make([]int, len(shards))
	for i, s := range shards {
		has[i] = countOf(s.slots)
	}
	change[at] = -has[at]
	for range has[at] {
		least := -1
		for i := range shards {
			if i != at && (least < 0 || has[i] < has[least]) {
				least = i
			}
		}
		has[least]++
		change[least]++
	}
	return planChange(shards, change), nil
}

// planChange returns the moves that change the number of slots of each shard. The changes add up to 0.
func planChange(shards []shardSlots, change []int) (moves []slotMove) {
	change = slices.Clone(change)
	to := 0
	for from, s := range shards {
		slots := s.slots
		for change[from] < 0 {
			for change[to] <= 0 {
				to++
			}
			n := min(-change[from], change[to])
			var part []cluster.Range
			slots, part = cutSlots(slots, n)
			moves = append(moves, slotMove{s.name, shards[to].name, part})
			change[from] += n
			change[to] -= n
		}
	}
	return moves
}

// planSlots returns the moves of some slots to a shard. Slots that it has already are left out. from is the
// shard that must have the slots; empty: any shard may.
func planSlots(shards []shardSlots, slots []cluster.Range, from, to string) (moves []slotMove, err error) {
	if !slices.ContainsFunc(shards, func(s shardSlots) bool { return s.name == to }) {
		return nil, errNoShard(shards, to)
	}
	rest := slots
	for _, s := range shards {
		part := cluster.Without(slots, cluster.Without(slots, s.slots))
		rest = cluster.Without(rest, s.slots)
		if len(part) == 0 || s.name == to {
			continue
		}
		if from != "" && s.name != from {
			return nil, fmt.Errorf("the slots %s are those of the shard %s", cluster.RangesText(part), s.name)
		}
		moves = append(moves, slotMove{s.name, to, part})
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("no shard has the slots %s", cluster.RangesText(rest))
	}
	return moves, nil
}

// planCount returns the move of the highest n slots of a shard to another one.
func planCount(shards []shardSlots, n int, from, to string) ([]slotMove, error) {
	at := slices.IndexFunc(shards, func(s shardSlots) bool { return s.name == from })
	switch {
	case at < 0:
		return nil, errNoShard(shards, from)
	case from == to:
		return nil, errors.New("--from and --to are the same shard")
	case n < 1 || n > countOf(shards[at].slots):
		return nil, fmt.Errorf("--count %d: the shard %s has %d slots", n, from, countOf(shards[at].slots))
	}
	_, part := cutSlots(shards[at].slots, n)
	return planSlots(shards, part, from, to)
}

func errNoShard(shards []shardSlots, name string) error {
	names := ""
	for _, s := range shards {
		names += " " + s.name
	}
	return fmt.Errorf("no shard has the name '%s'; there are:%s", name, names)
}

// portions divides moves so that none has more than a number of slots. The moves of one source stand
// together.
func portions(moves []slotMove, most int) (all []slotMove) {
	for _, m := range moves {
		for rest := m.slots; len(rest) > 0; {
			n := countOf(rest)
			var part []cluster.Range
			rest, part = cutFirst(rest, min(n, most))
			all = append(all, slotMove{m.from, m.to, part})
		}
	}
	slices.SortStableFunc(all, func(a, b slotMove) int { return cmp.Compare(a.from, b.from) })
	return all
}

// cutFirst divides ranges: first has the lowest n slots, and rest the others.
func cutFirst(all []cluster.Range, n int) (rest, first []cluster.Range) {
	first, rest = cutSlots(all, countOf(all)-n)
	return rest, first
}
