package due

import "math"

const (
	// Never is later than all other times.
	Never = math.MaxInt64
	// A node covers 16 nodes below it: finding their minimum reads two lines of the processor's cache.
	nodeBits = 4
	nodeSize = 1 << nodeBits
)

// Bounds finds the earliest of numbered groups of timers. For each group it has a lower bound of the group's
// times, and a tree of the minima of these bounds. The times themselves are stored elsewhere. A timer that is
// postponed or removed costs nothing here; the bound of its group is then too early. A caller that finds a
// group by such a bound looks through the group and sets the bound again.
//
// The zero value is empty; it is not safe for concurrent use.
//
// Invariant (checked by check): a node is the minimum of the nodes below it; the last level is a single node.
type Bounds struct {
	levels [][]int64
}

// FirstMS returns the least bound, or Never.
func (b *Bounds) FirstMS() int64 {
	if len(b.levels) == 0 {
		return Never
	}
	return b.levels[len(b.levels)-1][0]
}

// First returns a group with the least bound, and that bound, which is Never if no group has a timer.
func (b *Bounds) First() (group int, atMS int64) {
	atMS = b.FirstMS()
	if atMS == Never {
		return 0, Never
	}
	for level := len(b.levels) - 2; level >= 0; level-- {
		group <<= nodeBits
		for b.levels[level][group] != atMS {
			group++
		}
	}
	return group, atMS
}

// Of returns the bound of a group, or Never.
func (b *Bounds) Of(group int) int64 {
	if len(b.levels) == 0 || group >= len(b.levels[0]) {
		return Never
	}
	return b.levels[0][group]
}

// Lower records a timer of a group at atMS.
func (b *Bounds) Lower(group int, atMS int64) {
	if len(b.levels) == 0 || group >= len(b.levels[0]) {
		b.reserve(group)
	}
	atMS = min(atMS, Never-1)
	for _, level := range b.levels {
		if level[group] <= atMS {
			return
		}
		level[group] = atMS
		group >>= nodeBits
	}
}

// Raise sets the bound of a group that the caller has looked through. The group must have a bound. atMS is
// the time of its earliest timer, or Never if it has no timers.
func (b *Bounds) Raise(group int, atMS int64) {
	b.levels[0][group] = atMS
	for i := 1; i < len(b.levels); i++ {
		first := group &^ (nodeSize - 1)
		least := int64(Never)
		for _, below := range b.levels[i-1][first:min(first+nodeSize, len(b.levels[i-1]))] {
			least = min(least, below)
		}
		group >>= nodeBits
		if b.levels[i][group] == least {
			return
		}
		b.levels[i][group] = least
	}
}

// From returns the first group, from the given group on, that may have timers; -1 if there is no such group.
func (b *Bounds) From(group int) int {
	level := 0
	for ; ; level++ { // up, until a node at the group or beside it has a bound
		if level == len(b.levels) {
			return -1
		}
		for end := min(group|(nodeSize-1)+1, len(b.levels[level])); group < end && b.levels[level][group] == Never; {
			group++
		}
		if group < len(b.levels[level]) && b.levels[level][group] != Never {
			break
		}
		if group >= len(b.levels[level]) {
			return -1
		}
		group >>= nodeBits
	}
	for ; level > 0; level-- { // and down again
		for group <<= nodeBits; b.levels[level-1][group] == Never; {
			group++
		}
	}
	return group
}

// reserve makes space for a group.
func (b *Bounds) reserve(group int) {
	for level := 0; ; level++ {
		if level == len(b.levels) {
			b.levels = append(b.levels, nil)
			if level > 0 {
				least := int64(Never)
				for _, below := range b.levels[level-1][:min(nodeSize, len(b.levels[level-1]))] {
					least = min(least, below)
				}
				b.levels[level] = append(b.levels[level], least)
			}
		}
		for len(b.levels[level]) <= group {
			b.levels[level] = append(b.levels[level], Never)
		}
		if len(b.levels[level]) == 1 {
			return
		}
		group >>= nodeBits
	}
}
