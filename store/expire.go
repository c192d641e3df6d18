package store

// deadline is one key's end of life. atMS and key never change after the node was made, because a snapshot may read
// atMS; pos belongs to the heap.
type deadline struct {
	atMS  int64 // milliseconds since 1970
	space *space
	key   string
	pos   int // index in deadlines.heap
}

// deadlines is the ordered index of every deadline of a store: a 4-ary min-heap whose nodes know their place, so a
// removal needs no search. A lease that is later than all others, the common case, is put in without moving anything.
//
// Invariant: heap[i].node.pos == i, and no child is earlier than its parent (checked by Store.Check).
type deadlines struct {
	heap []deadlineCell
}

// deadlineCell repeats the node's time so that sifting does not chase pointers.
type deadlineCell struct {
	atMS int64
	node *deadline
}

const heapArity = 4

func (h *deadlines) add(n *deadline) {
	h.heap = append(h.heap, deadlineCell{n.atMS, n})
	h.up(len(h.heap) - 1)
}

func (h *deadlines) remove(n *deadline) {
	last := len(h.heap) - 1
	i := n.pos
	moved := h.heap[last]
	h.heap[last] = deadlineCell{}
	h.heap = h.heap[:last]
	if i == last {
		return
	}
	h.heap[i] = moved
	moved.node.pos = i
	if i > 0 && moved.atMS < h.heap[(i-1)/heapArity].atMS {
		h.up(i)
		return
	}
	h.down(i)
}

// moved puts a node whose time has changed in place to where it belongs now.
func (h *deadlines) moved(n *deadline) {
	later := n.atMS >= h.heap[n.pos].atMS
	h.heap[n.pos].atMS = n.atMS
	if later {
		h.down(n.pos)
	} else {
		h.up(n.pos)
	}
}

func (h *deadlines) up(i int) {
	c := h.heap[i]
	for i > 0 {
		p := (i - 1) / heapArity
		if h.heap[p].atMS <= c.atMS {
			break
		}
		h.heap[i] = h.heap[p]
		h.heap[i].node.pos = i
		i = p
	}
	h.heap[i] = c
	c.node.pos = i
}

func (h *deadlines) down(i int) {
	c, n := h.heap[i], len(h.heap)
	for {
		first := i*heapArity + 1
		if first >= n {
			break
		}
		least := first
		for j := first + 1; j < min(first+heapArity, n); j++ {
			if h.heap[j].atMS < h.heap[least].atMS {
				least = j
			}
		}
		if h.heap[least].atMS >= c.atMS {
			break
		}
		h.heap[i] = h.heap[least]
		h.heap[i].node.pos = i
		i = least
	}
	h.heap[i] = c
	c.node.pos = i
}

// NextDeadlineMS returns when the first key dies (milliseconds since 1970), and false if none ever does.
func (s *Store) NextDeadlineMS() (int64, bool) {
	if len(s.deadlines.heap) == 0 {
		return 0, false
	}
	return s.deadlines.heap[0].atMS, true
}

// ExpireDue removes at most budget keys whose time has come, earliest first, and returns how many it removed. Fewer
// than budget: nothing more is due.
func (s *Store) ExpireDue(budget int) int {
	n := 0
	for ; n < budget && len(s.deadlines.heap) > 0 && s.deadlines.heap[0].atMS <= s.nowMS; n++ {
		d := s.deadlines.heap[0].node
		d.space.db.expire(d.key)
	}
	return n
}

// setDeadline gives v its time; 0 takes it away. v must be writable.
func (sp *space) setDeadline(key string, v *value, atMS int64) {
	h := &sp.store.deadlines
	switch {
	case v.exp == nil && atMS == 0:
	case v.exp == nil:
		v.exp = &deadline{atMS: atMS, space: sp, key: key}
		sp.timed++
		h.add(v.exp)
	case atMS == 0:
		h.remove(v.exp)
		sp.timed--
		v.exp = nil
	case sp.store.epoch.Shared(0): // a snapshot may read the node: leave it as it is
		h.remove(v.exp)
		v.exp = &deadline{atMS: atMS, space: sp, key: key}
		h.add(v.exp)
	default:
		v.exp.atMS = atMS
		h.moved(v.exp)
	}
}
