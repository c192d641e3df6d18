package commands

import (
	"math"
	"slices"

	"lockserver/internal/resp"
)

// leastElementBytes is the shortest element of a reply, the empty string.
const leastElementBytes = len("$0\r\n\r\n")

// maxScannedDraws is the largest number of distinct draws for which a repetition is searched among the
// earlier draws one by one.
const maxScannedDraws = 16

// pool is a container that HRANDFIELD and SRANDMEMBER draw from.
type pool struct {
	len int
	// compact: the time of at is proportional to i, because the elements are stored one after the other.
	compact bool
	// at writes element i as a reply. each writes all elements in their order and calls after once after
	// each.
	at   func(out *resp.Writer, i int)
	each func(out *resp.Writer, after func())
}

// drawCall holds the arguments of HRANDFIELD and ZRANDMEMBER.
type drawCall struct {
	key    []byte
	single bool // without a count: one element, written alone
	count  int64
	paired bool // each with its value or score
}

// readDraw reads "key [count [WITHVALUES]]", or another word that requests pairs.
func readDraw(a *Scanner, pairWord string) (d drawCall, err error) {
	d.key = a.Key()
	if d.single = !a.More(); d.single {
		return d, a.Err()
	}
	d.count = a.IntRange(-math.MaxInt64, math.MaxInt64)
	if a.More() {
		d.paired = a.IsNext(pairWord)
		if !d.paired || a.More() {
			a.Syntax()
		}
	}
	if d.paired && (d.count < -math.MaxInt64/2 || d.count > math.MaxInt64/2) {
		a.Fail(ErrOutOfRange)
	}
	return d, a.Err()
}

// pairWords returns the number of values of an element in the array around it: a pair is one array in RESP3,
// and two values in RESP2.
func pairWords(out *resp.Writer, paired bool) int {
	if paired && out.Proto < 3 {
		return 2
	}
	return 1
}

// draw writes count distinct elements, or all if there are no more than count. If count is negative it writes
// -count independent elements. elementWords is the number of values of an element in the reply's array.
func draw(c *Ctx, p pool, count int64, elementWords int) error {
	switch {
	case count < 0:
		return drawIndependent(c, p, -count, elementWords)
	case count >= int64(p.len):
		c.Out.Array(p.len * elementWords)
		p.each(c.Out, func() {})
		return nil
	}
	c.Out.Array(int(count) * elementWords)
	if p.compact && count > 1 {
		p = p.spread(c.Out.Proto)
	}
	for _, i := range distinct(c.Rand, p.len, int(count)) {
		p.at(c.Out, i)
	}
	return nil
}

// drawIndependent writes count elements, each drawn from all. A short call could request a reply of any size,
// for which Redis then allocates memory. Here the reply may not be longer than a string.
func drawIndependent(c *Ctx, p pool, count int64, elementWords int) error {
	most := c.Settings.MaxStringBytes
	if count > most/int64(leastElementBytes*elementWords) {
		return ErrOutOfRange
	}
	start := c.Out.Len()
	c.Out.Array(int(count) * elementWords)
	if p.compact && count > 1 {
		p = p.spread(c.Out.Proto)
	}
	for range count {
		p.at(c.Out, c.Rand.IntN(p.len))
		if int64(c.Out.Len()-start) > most {
			return ErrOutOfRange
		}
	}
	return nil
}

// spread returns the pool with all its elements written out once, so that at takes the same time for each
// element.
func (p pool) spread(proto int) pool {
	all := resp.Writer{Proto: proto}
	ends := make([]int, 1, p.len+1)
	p.each(&all, func() { ends = append(ends, all.Len()) })
	p.at = func(out *resp.Writer, i int) { out.Raw(all.Buf[ends[i]:ends[i+1]]) }
	return p
}

// distinct draws count different numbers below n, each sequence with the same probability, in O(count). count
// is below n.
func distinct(r Rand, n, count int) []int {
	if count*3 >= n {
		return distinctOfMost(r, n, count)
	}
	// At most a third is taken, so a draw is repeated less than once on average.
	drawn := make([]int, 0, count)
	var seen map[int]struct{}
	if count > maxScannedDraws {
		seen = make(map[int]struct{}, count)
	}
	for len(drawn) < count {
		i := r.IntN(n)
		if seen == nil {
			if slices.Contains(drawn, i) {
				continue
			}
		} else {
			if _, repeated := seen[i]; repeated {
				continue
			}
			seen[i] = struct{}{}
		}
		drawn = append(drawn, i)
	}
	return drawn
}

// distinctOfMost is distinct by a shuffle of all n numbers that ends early.
func distinctOfMost(r Rand, n, count int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := range count {
		j := i + r.IntN(n-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:count]
}
