package linearizability

import (
	"fmt"
	"slices"
	"strings"
)

// The model's state as an immutable value.

// clone gives a state its own copy of the locks.
func (s *state) clone() {
	for k, l := range s.locks {
		s.locks[k] = slices.Clone(l)
	}
}

// find returns an owner's holding of a lock, or nil.
func (s *state) find(key, owner int) *holding {
	for i := range s.locks[key] {
		if h := &s.locks[key][i]; h.owner == owner {
			return h
		}
	}
	return nil
}

// insert adds an owner to the holders of a lock.
func (s *state) insert(key, owner int) *holding {
	l := s.locks[key]
	i := 0
	for i < len(l) && l[i].owner < owner {
		i++
	}
	s.locks[key] = slices.Insert(l, i, holding{owner: owner})
	return &s.locks[key][i]
}

// drop removes an owner from the holders of a lock, in a new slice.
func (s *state) drop(key, owner int) {
	s.locks[key] = slices.DeleteFunc(slices.Clone(s.locks[key]), func(h holding) bool { return h.owner == owner })
}

func (s state) equals(o state) bool {
	for k, l := range s.locks {
		if !slices.Equal(l, o.locks[k]) {
			return false
		}
	}
	return s.nowMS == o.nowMS && s.last == o.last && s.left == o.left && s.attachedBy == o.attachedBy
}

func (s state) hash() uint64 {
	h := uint64(14695981039346656037)
	mix := func(n int64) { h = (h ^ uint64(n)) * 1099511628211 }
	mix(s.last)
	mix(int64(s.left))
	for _, conn := range s.attachedBy {
		mix(int64(conn))
	}
	for _, l := range s.locks {
		mix(int64(len(l)))
		for i := range l {
			l[i].hash(mix)
		}
	}
	return h
}

func (h *holding) hash(mix func(int64)) {
	mix(int64(h.owner)<<48 | h.shared<<24 | h.exclusive)
	mix(h.tokenLow)
	mix(h.endLow)
	mix(h.endHigh)
	mix(int64(h.watch)<<40 | int64(h.undo[0].conn)<<20 | int64(h.undo[1].conn))
}

// String returns the state as a line of a report.
func (s state) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %d ms, last token %d", s.nowMS, s.last)
	for k, l := range s.locks {
		if len(l) == 0 {
			fmt.Fprintf(&b, "; %s free", keyName(k))
			continue
		}
		fmt.Fprintf(&b, "; %s", keyName(k))
		for _, h := range l {
			fmt.Fprintf(&b, " %s shared x%d exclusive x%d token %d", ownerName(h.owner), h.shared, h.exclusive, h.tokenLow)
			if h.tokenHigh != h.tokenLow {
				b.WriteString(" or above")
			}
			fmt.Fprintf(&b, " ends %d..%d", h.endLow, h.endHigh)
			if h.watch != 0 {
				fmt.Fprintf(&b, " renewed for conn %d", h.watch)
			}
		}
	}
	for owner, conn := range s.attachedBy {
		if conn != 0 {
			fmt.Fprintf(&b, "; conn %d is attached to %s", conn, ownerName(owner))
		}
	}
	return b.String()
}
