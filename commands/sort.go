package commands

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"lockserver/internal/keyevent"
	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/store/list"
)

// sortCall holds the options of SORT.
type sortCall struct {
	key, destination []byte
	by               []byte // nil means by the elements themselves
	get              [][]byte
	offset, count    int64 // a negative count means all
	desc, alpha      bool
	// unsorted means that the elements keep the order of the value. A BY without a '*' sets it, and a later
	// BY does not unset it.
	unsorted bool
}

// sortItem is an element with its sort key.
type sortItem struct {
	element []byte
	weight  float64
	word    []byte // with ALPHA; nil if the key does not exist
}

func sortElements(c *Ctx) error {
	var s sortCall
	a := c.Args()
	s.read(c, a)
	if err := a.Err(); err != nil {
		return err
	}
	r := c.DB.Look(s.key)
	if r.Kind() == store.ZSet {
		e := c.DB.EditZSet(s.key)
		e.Expand() // permanently, as in Redis
		r = c.DB.Peek(s.key)
	} else if r.OK() {
		c.DB.FindToWrite(s.key) // EditZSet counts as a use, too
	}
	switch r.Kind() {
	case store.None, store.List, store.ZSet:
	case store.Set:
		// A stored result, and a result that a script reads, must not depend on the order of a hash table.
		if s.unsorted && (s.destination != nil || c.FromScript) {
			s.unsorted, s.alpha, s.by = false, true, nil
		}
	default:
		return ErrWrongType
	}
	from, to := s.bounds(sortLen(r))
	var elements [][]byte
	if s.unsorted {
		elements = s.take(r, from, to)
	} else {
		all, err := s.sorted(c, s.take(r, 0, sortLen(r)))
		if err != nil {
			return err
		}
		elements = all[from:to]
	}
	if s.destination != nil {
		s.store(c, elements)
	} else {
		s.reply(c, elements)
	}
	return nil
}

// read reads the arguments. Patterns name keys without a check of rights, so the client must have the right
// to read all keys.
func (s *sortCall) read(c *Ctx, a *Scanner) {
	s.key, s.count = a.Key(), -1
	for a.More() {
		switch a.Option() {
		case "ASC":
			s.desc = false
		case "DESC":
			s.desc = true
		case "ALPHA":
			s.alpha = true
		case "LIMIT":
			if a.Left() < 2 {
				a.Syntax()
			}
			s.offset, s.count = a.Int(), a.Int()
		case "STORE":
			s.destination = a.Key()
		case "BY":
			s.by = a.Bytes()
			if bytes.IndexByte(untilZero(s.by), '*') < 0 {
				s.unsorted = true
			} else if c.leavesSlot(s.by, s.key) {
				a.Fail(ErrSortBySlot)
			} else if a.Err() == nil && !c.Host.ReadsEverything(c) {
				a.Fail(ErrSortByDenied)
			}
		case "GET":
			s.get = append(s.get, a.Bytes())
			switch {
			case c.leavesSlot(s.get[len(s.get)-1], s.key):
				a.Fail(ErrSortGetSlot)
			case a.Err() == nil && !c.Host.ReadsEverything(c):
				a.Fail(ErrSortGetDenied)
			}
		}
	}
}

// leavesSlot reports whether the keys that a pattern of SORT names may be in another slot than the sorted
// key, in a cluster.
func (c *Ctx) leavesSlot(pattern, key []byte) bool {
	if !c.Settings.OneSlot {
		return false
	}
	n, ok := keyslot.OfPattern(pattern)
	return !ok || n != keyslot.Of(key)
}

// untilZero returns the bytes before the first zero byte: the text as C sees it.
func untilZero(b []byte) []byte { return clip(b, len(b)) }

// bounds returns the part from..to-1 of n elements that LIMIT selects.
func (s *sortCall) bounds(n int) (from, to int) {
	from, to = int(min(max(s.offset, 0), int64(n))), n
	if s.count >= 0 {
		to = from + int(min(s.count, int64(n-from)))
	}
	return from, to
}

// sortLen returns the number of elements of a value.
func sortLen(r store.Ref) int {
	switch r.Kind() {
	case store.List:
		return r.List().Len()
	case store.Set:
		return r.Set().Len()
	case store.ZSet:
		return r.ZSet().Len()
	}
	return 0
}

// take copies the elements between two positions in the order of the value. If they stay unsorted, DESC
// reverses that order, except for a set, which has no order.
func (s *sortCall) take(r store.Ref, from, to int) [][]byte {
	elements := make([][]byte, 0, to-from)
	if from == to {
		return elements
	}
	add := func(e []byte) bool {
		elements = append(elements, Clone(e))
		return true
	}
	down := s.unsorted && s.desc
	switch r.Kind() {
	case store.List:
		side, first := list.Right, from
		if down {
			side, first = list.Left, r.List().Len()-1-from
		}
		r.List().Range(first, to-from, side, func(v list.Value) bool { return add(v.Append(nil)) })
	case store.Set:
		at := 0
		r.Set().Each(func(member []byte) bool {
			if at++; at > from {
				add(member)
			}
			return at < to
		})
	case store.ZSet:
		visit := func(member []byte, _ float64) bool { return add(member) }
		if n := r.ZSet().Len(); down {
			r.ZSet().RangeDown(n-to, n-from, visit)
		} else {
			r.ZSet().Range(from, to, visit)
		}
	}
	return elements
}

// sorted sorts elements in place. Elements of the same weight are ordered by their bytes; elements with the
// same word keep their order.
func (s *sortCall) sorted(c *Ctx, elements [][]byte) ([][]byte, error) {
	items := make([]sortItem, len(elements))
	failed := false
	for i, e := range elements {
		items[i] = sortItem{element: e, word: e}
		if s.by != nil {
			items[i].word = c.lookUp(s.by, e)
		}
		if s.alpha || items[i].word == nil {
			continue
		}
		weight, ok := sortWeight(items[i].word)
		items[i].weight = weight
		failed = failed || !ok
	}
	if failed {
		return nil, ErrSortNumber
	}
	slices.SortStableFunc(items, func(x, y sortItem) int {
		var order int
		switch {
		case !s.alpha:
			if order = cmp.Compare(x.weight, y.weight); order == 0 {
				order = bytes.Compare(x.element, y.element)
			}
		case x.word == nil || y.word == nil: // a missing key comes first
			order = cmp.Compare(boolInt(x.word != nil), boolInt(y.word != nil))
		default:
			order = bytes.Compare(x.word, y.word)
		}
		if s.desc {
			return -order
		}
		return order
	})
	for i := range items {
		elements[i] = items[i].element
	}
	return elements, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reply writes the elements, or the values that GET finds for each.
func (s *sortCall) reply(c *Ctx, elements [][]byte) {
	c.Out.Array(len(elements) * max(1, len(s.get)))
	s.each(c, elements, func(e []byte) {
		if e == nil {
			c.Out.Null()
		} else {
			c.Out.Bulk(e)
		}
	})
}

// store makes the destination a list of the elements, or of the values that GET finds for each. A missing
// value becomes an empty element.
func (s *sortCall) store(c *Ctx, elements [][]byte) {
	st := c.DB.Store()
	result := st.NewList(nil)
	result.Spread()
	s.each(c, elements, func(e []byte) { result.Push(st.Limits().List, list.Right, e) })
	result.Compact(st.Limits().List)
	n := result.Len()
	existed := n == 0 && c.DB.Peek(s.destination).OK()
	c.DB.ReplaceList(s.destination, result.List)
	c.notifyStored(keyevent.List, "sortstore", s.destination, n == 0, existed)
	c.Out.Int(int64(n))
}

// each visits the elements of the result; nil stands for a value that GET did not find.
func (s *sortCall) each(c *Ctx, elements [][]byte, visit func(e []byte)) {
	for _, e := range elements {
		if len(s.get) == 0 {
			visit(e)
		}
		for _, pattern := range s.get {
			visit(c.lookUp(pattern, e))
		}
	}
}

// lookUp returns a copy of the value that a pattern of BY or GET names for an element, or nil if it does not
// exist. The pattern '#' is the element itself. Otherwise the element replaces the first '*'. The result is
// the key of a string or, with "->field" after the '*', of a hash.
func (c *Ctx) lookUp(pattern, element []byte) []byte {
	if string(pattern) == "#" {
		return element
	}
	text := untilZero(pattern)
	star := bytes.IndexByte(text, '*')
	if star < 0 {
		return nil
	}
	end, field := len(pattern), []byte(nil)
	if at := bytes.Index(text[star+1:], []byte("->")); at >= 0 && star+1+at+2 < len(text) {
		end = star + 1 + at
		field = pattern[end+2:]
	}
	key := make([]byte, 0, end+len(element))
	key = append(append(append(key, pattern[:star]...), element...), pattern[star+1:end]...)
	r := c.DB.Find(key)
	switch {
	case field == nil && r.Kind() == store.String:
		return Clone(r.Bytes())
	case field != nil && r.Kind() == store.Hash:
		if value, ok := r.Hash().Get(nil, field); ok && !c.DB.Overdue(r.Hash(), field) {
			return Clone(value)
		}
	}
	return nil
}

// leastNormal is the least normal number of a double. C reports a number below it as out of range.
const leastNormal = 0x1p-1022

// sortWeight parses a weight like C's strtod, with the additional checks of Redis. Leading white space is
// skipped, an empty text is 0, and a number below leastNormal is refused.
func sortWeight(b []byte) (weight float64, ok bool) {
	b = untilZero(b)
	if len(b) == 0 {
		return 0, true
	}
	weight, ok = resp.ParseFloat(bytes.TrimLeft(b, " \t\n\v\f\r"))
	if weight != 0 && math.Abs(weight) < leastNormal {
		return 0, false
	}
	return weight, ok
}
