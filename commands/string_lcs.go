package commands

import "lockserver/store"

// lcs checks the types before the options, as Redis does.
func lcs(c *Ctx) error {
	x := c.Args()
	a, b := c.DB.Find(x.Key()), c.DB.Find(x.Key())
	if !a.Is(store.String) || !b.Is(store.String) {
		return ErrLCSType
	}
	var onlyLen, index, withLen bool
	var least int64
	for x.More() {
		switch x.Option() {
		case "LEN":
			onlyLen = true
		case "IDX":
			index = true
		case "WITHMATCHLEN":
			withLen = true
		case "MINMATCHLEN":
			least = x.Int()
		}
	}
	if err := x.Err(); err != nil {
		return err
	}
	if onlyLen && index {
		return ErrLCSLenAndIdx
	}
	s := subsequence{a: a.Bytes(), b: b.Bytes()}
	if err := s.checkSize(c.Settings.MaxStringBytes); err != nil {
		return err
	}
	switch {
	case onlyLen:
		c.Out.Int(int64(s.solve(false)))
	case index:
		replyMatches(c, &s, least, withLen)
	default:
		c.Out.Bulk(s.text(s.solve(true)))
	}
	return nil
}

// replyMatches replies the positions of the subsequence in both strings, from its end to its start.
func replyMatches(c *Ctx, s *subsequence, least int64, withLen bool) {
	length := s.solve(true)
	c.Out.Map(2)
	c.Out.BulkString("matches")
	list, n := c.Out.DeferArray(), 0
	for i, j := len(s.a), len(s.b); ; {
		var size int
		i, j, size = s.run(i, j)
		if size == 0 {
			break
		}
		if int64(size) < least {
			continue
		}
		n++
		words := 2
		if withLen {
			words++
		}
		c.Out.Array(words)
		for _, start := range [2]int{i, j} {
			c.Out.Array(2)
			c.Out.Int(int64(start))
			c.Out.Int(int64(start + size - 1))
		}
		if withLen {
			c.Out.Int(int64(size))
		}
	}
	c.Out.SetArray(list, n)
	c.Out.BulkString("len")
	c.Out.Int(int64(length))
}

// subsequence finds the longest common subsequence of a and b by dynamic programming over all pairs of
// prefixes. It keeps only one row of lengths at a time; the way back needs one bit for each pair.
type subsequence struct {
	a, b []byte
	// up has a bit for each pair of bytes, row by row of a. The bit says which byte the best subsequence of
	// the prefixes that end there leaves out: a's (1) or b's (0). It has no meaning where the bytes are
	// equal.
	up []uint64
}

// checkSize returns an error if Redis' table of lengths, four bytes for each pair of prefixes, would exceed
// limit. Our table is smaller, but the time is the same.
func (s *subsequence) checkSize(limit int64) error {
	rows, columns := int64(len(s.a))+1, int64(len(s.b))+1
	if rows > limit/4/columns {
		return ErrLCSMemory
	}
	return nil
}

// solve returns the length of the subsequence. With trace, run and text can be called afterwards.
func (s *subsequence) solve(trace bool) int {
	row := make([]uint32, len(s.b)+1)
	if trace {
		s.up = make([]uint64, (len(s.a)*len(s.b)+63)/64)
	}
	pair := 0
	for _, x := range s.a {
		diagonal := uint32(0) // the row above, one column to the left
		for j, y := range s.b {
			above := row[j+1]
			switch {
			case x == y:
				row[j+1] = diagonal + 1
			case above > row[j]:
				if trace {
					s.up[pair>>6] |= 1 << (pair & 63)
				}
			default:
				row[j+1] = row[j]
			}
			diagonal = above
			pair++
		}
	}
	return int(row[len(s.b)])
}

// run finds the last run of bytes of the subsequence that ends within the prefixes of i and j bytes. It
// returns its start in each string and its size, or size 0 if there is none.
func (s *subsequence) run(i, j int) (int, int, int) {
	size := 0
	for i > 0 && j > 0 {
		if s.a[i-1] == s.b[j-1] {
			i, j, size = i-1, j-1, size+1
			continue
		}
		if size > 0 {
			break
		}
		if pair := (i-1)*len(s.b) + j - 1; s.up[pair>>6]&(1<<(pair&63)) != 0 {
			i--
		} else {
			j--
		}
	}
	return i, j, size
}

// text returns the subsequence, which has n bytes.
func (s *subsequence) text(n int) []byte {
	text := make([]byte, n)
	for i, j := len(s.a), len(s.b); n > 0; {
		var size int
		i, j, size = s.run(i, j)
		n -= size
		copy(text[n:], s.a[i:i+size])
	}
	return text
}
