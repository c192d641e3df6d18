package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lockserver/internal/keyslot"
)

// Owned has the slots of a shard, with its name and that of its cluster. The log of a raft group has it as a
// text: see package raft.
type Owned struct {
	Cluster, Shard string
	Slots          []Range // in order; none may follow at once on the one before
}

// String is the text, do not change: the two names and the ranges, with spaces between them, and a line end.
func (o *Owned) String() string {
	return fmt.Sprintf("%s %s %s\n", o.Cluster, o.Shard, RangesText(o.Slots))
}

// ParseOwned reads the text of String.
func ParseOwned(text string) (o Owned, err error) {
	line, ok := strings.CutSuffix(text, "\n")
	words := strings.SplitN(line, " ", 3)
	if !ok || len(words) != 3 || !IsName(words[0]) || !IsName(words[1]) {
		return o, errors.New("what the log has of the slots of this group cannot be read: it is damaged, or a newer lockserver wrote it")
	}
	o = Owned{Cluster: words[0], Shard: words[1]}
	o.Slots, err = ParseRanges(words[2])
	return o, err
}

// longestName is the number of bytes of the longest name of a cluster or a shard.
const longestName = 64

// IsName reports whether a text can be the name of a cluster or of a shard: 1 to 64 letters, digits, dots,
// hyphens and underscores of ASCII.
func IsName(s string) bool {
	for _, b := range []byte(s) {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		if !letter && !(b >= '0' && b <= '9') && b != '.' && b != '-' && b != '_' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= longestName
}

// ParseRanges reads slots, such as "0-5460 6000". They may come in any order; the result is in order, and
// ranges that meet are one. The error says what is wrong, for example that a slot stands there twice.
func ParseRanges(text string) ([]Range, error) {
	var all []Range
	for word := range strings.FieldsSeq(text) {
		first, last, ranged := strings.Cut(word, "-")
		if !ranged {
			last = first
		}
		from, bad := strconv.ParseUint(first, 10, 16)
		to, bad2 := strconv.ParseUint(last, 10, 16)
		if bad != nil || bad2 != nil || from > to || to >= keyslot.Count {
			return nil, fmt.Errorf("'%s' is no slot and no range of slots, which are 0 to %d", word, keyslot.Count-1)
		}
		all = append(all, Range{int(from), int(to)})
	}
	return Ordered(all)
}

// Ordered returns ranges in order, in which ranges that meet are one. It changes the order of all. The error
// says that a slot stands there twice.
func Ordered(all []Range) ([]Range, error) {
	slices.SortFunc(all, func(a, b Range) int { return a.First - b.First })
	var joined []Range
	for _, r := range all {
		n := len(joined) - 1
		switch {
		case n < 0 || r.First > joined[n].Last+1:
			joined = append(joined, r)
		case r.First <= joined[n].Last:
			return nil, fmt.Errorf("the slot %d stands there twice", r.First)
		default:
			joined[n].Last = r.Last
		}
	}
	return joined, nil
}

// RangesText returns the text that ParseRanges reads.
func RangesText(all []Range) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = r.String()
	}
	return strings.Join(words, " ")
}

// Without returns the slots of some ranges that are in none of others. Both are in order.
func Without(some, others []Range) (rest []Range) {
	for _, r := range some {
		for _, o := range others {
			if o.Last < r.First || o.First > r.Last {
				continue
			}
			if o.First > r.First {
				rest = append(rest, Range{r.First, o.First - 1})
			}
			r.First = o.Last + 1
		}
		if r.First <= r.Last {
			rest = append(rest, r)
		}
	}
	return rest
}

// Join returns the slots of two lists, which share no slot, in order. No two ranges of the result adjoin.
func Join(a, b []Range) (all []Range) {
	both := slices.Concat(a, b)
	slices.SortFunc(both, func(a, b Range) int { return a.First - b.First })
	for _, r := range both {
		if n := len(all); n > 0 && all[n-1].Last+1 == r.First {
			all[n-1].Last = r.Last
			continue
		}
		all = append(all, r)
	}
	return all
}
