package dict

import "fmt"

// checkNow runs check under the build tag invariants: on every change of a
// small dict, and at some lengths of a large one.
func (d *Dict[V]) checkNow() {
	if d.n > 64 && d.n&(d.n-1) != 0 {
		return
	}
	if err := d.check(); err != nil {
		panic(err)
	}
}

// check walks everything and returns the first invariant that does not hold.
func (d *Dict[V]) check() error {
	if err := d.checkSlots(); err != nil {
		return err
	}
	if d.index.dir == nil {
		if d.n > indexAbove {
			return fmt.Errorf("dict: no index for %d entries", d.n)
		}
		return nil
	}
	if err := d.index.check(d.n); err != nil {
		return err
	}
	for i := range d.n {
		key := d.slot(i).key.String()
		if at := d.FindString(d.HashString(key), key); at != i {
			return fmt.Errorf("dict: key %q of slot %d is found at %d", key, i, at)
		}
	}
	return nil
}

// checkSlots checks that the chunks hold n entries without gaps, are not larger than allowed, and that the
// memory after the entries is zero.
func (d *Dict[V]) checkSlots() error {
	total := 0
	for i, p := range d.pages {
		if i < len(d.pages)-1 && len(p.chunks) != pageSize {
			return fmt.Errorf("dict: page %d has %d chunks", i, len(p.chunks))
		}
		for j, c := range p.chunks {
			lastChunk := i == len(d.pages)-1 && j == len(p.chunks)-1
			if !lastChunk && len(c.slots) != chunkSize {
				return fmt.Errorf("dict: chunk %d of page %d has %d slots", j, i, len(c.slots))
			}
			for k := range c.slots {
				if total+k >= d.n && (c.slots[k].key != nil || c.side(k) != 0) {
					return fmt.Errorf("dict: free slot %d is not zero", total+k)
				}
			}
			total += len(c.slots)
		}
	}
	if total < d.n || total > 2*d.n+chunkSize {
		return fmt.Errorf("dict: %d slots for %d entries", total, d.n)
	}
	return nil
}

func (x *index) check(n int) error {
	if x.shift > 32 || len(x.dir) != 1<<x.depth() {
		return fmt.Errorf("dict: directory of %d with shift %d", len(x.dir), x.shift)
	}
	total, deepest := 0, 0
	for i := 0; i < len(x.dir); {
		s := x.dir[i]
		if s.depth > x.depth() {
			return fmt.Errorf("dict: segment of depth %d in a directory of %d", s.depth, x.depth())
		}
		first := uint32(uint64(i) << x.shift)
		if err := s.check(); err != nil {
			return err
		}
		from, to := x.span(s, first)
		if from != i {
			return fmt.Errorf("dict: segment of depth %d begins at entry %d", s.depth, i)
		}
		for ; i < to; i++ {
			if x.dir[i] != s {
				return fmt.Errorf("dict: entry %d is not of the segment it should be", i)
			}
		}
		total += int(s.n)
		if to-from == 1 && len(x.dir) > 1 {
			deepest++
		}
	}
	if total != n || deepest != x.deepest {
		return fmt.Errorf("dict: index counts %d of %d entries, %d of %d deepest segments", total, n, x.deepest, deepest)
	}
	return nil
}

// check verifies a segment.
func (s *segment) check() error {
	if s.cells.at(s.cells.len()-1) != empty {
		return fmt.Errorf("dict: the last cell of a segment is taken")
	}
	used, run, tag := uint32(0), 0, uint32(0)
	for i := range s.cells.len() {
		c := s.cells.at(i)
		if c == empty {
			run = i + 1
			continue
		}
		used++
		if slot, _ := s.match(i, s.tag(c)); !s.holds(slot) {
			return fmt.Errorf("dict: cell %d has slot %d at depth %d", i, slot, s.depth)
		}
		if s.tag(c) < tag {
			return fmt.Errorf("dict: cell %d is out of order", i)
		}
		tag = s.tag(c)
		if home := s.home(tag); home > i || home < run {
			return fmt.Errorf("dict: cell %d has its home at %d, its run begins at %d", i, home, run)
		}
	}
	if used != s.n {
		return fmt.Errorf("dict: segment counts %d of %d cells", s.n, used)
	}
	return nil
}
