package list

// walk calls fn for the elements from number i on, to the right or to the left,
// until fn returns false. Number i must exist.
func (l *List) walk(i int, to Side, fn func(v Value) bool) {
	if l.nodes() == nil {
		walkPacked(l.packed(), position(l.packed(), i), to, fn)
		return
	}
	p, within := l.nodes().locate(i)
	for ok := true; ok; p, ok = l.nodes().next(p, to) {
		n := l.nodes().at(p)
		if within < 0 { // the walk enters the node from its end
			within = 0
			if to == Left {
				within = n.len() - 1
			}
		}
		if !n.walk(within, to, fn) {
			return
		}
		within = -1
	}
}

// Index returns element i; a negative i counts from the right end, where -1 is the last. It returns false if
// the element does not exist. The value is valid until the next change of the list. The time grows with the
// distance from the nearer end, counted in nodes and segments.
func (l *List) Index(i int) (v Value, ok bool) {
	n := l.Len()
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Value{}, false
	}
	l.walk(i, Right, func(found Value) bool {
		v = found
		return false
	})
	return v, true
}

// Range calls fn for at most n elements from number i on, to the right or to the left, until fn returns
// false. Number i must exist unless n is 0. A value is only valid during the call; fn must not change the
// list.
func (l *List) Range(i, n int, to Side, fn func(v Value) bool) {
	if n <= 0 {
		return
	}
	l.walk(i, to, func(v Value) bool {
		n--
		return fn(v) && n > 0
	})
}

// Matches calls fn with the index of every element that equals b, beginning at one end, until fn returns
// false. It compares at most most elements; 0 means all of them.
func (l *List) Matches(b []byte, from Side, most int, fn func(i int) bool) {
	n := l.Len()
	if most <= 0 || most > n {
		most = n
	}
	i, step, to := 0, 1, Right
	if from == Right {
		i, step, to = n-1, -1, Left
	}
	l.Range(i, most, to, func(v Value) bool {
		if v.Equal(b) && !fn(i) {
			return false
		}
		i += step
		return true
	})
}
