// Package due keeps the order of times: keys that expire, clients that stop waiting, leases to be renewed.
//
// There are two ways. Bounds is for items that store their times themselves and have numbers, such as the
// keys of a database: it takes almost no memory for each.
//
// Queue, for all other items, is a 4-ary min-heap. Its items know their place, so that removing an item needs
// no search. Most items are added with the latest time of all, and most are moved to a later time before they
// are due (a lease that is renewed). Neither moves anything in the heap: a postponed item stays in its place
// and moves to its real place when it reaches the front. So a renewal costs one write instead of a walk
// through the heap, for a million items as for a thousand.
//
// It must not know what happens at a time, or the time of day. Times are milliseconds since 1970.
package due

import (
	"cmp"
	"slices"
)

// Item is an entry of a queue. The zero value, with Of set, is in no queue.
type Item[T any] struct {
	Of    T
	atMS  int64
	place int // index in the heap plus one; 0: not in a queue
}

// AtMS returns when the item falls due.
func (it *Item[T]) AtMS() int64 { return it.atMS }

// Queued reports whether the item is in a queue.
func (it *Item[T]) Queued() bool { return it.place > 0 }

// Queue holds items. The zero value is empty; it is not safe for concurrent use.
//
// Invariants (checked by check): heap[i].item.place == i+1; heap[i].atMS <= heap[i].item.atMS; no
// cell is earlier than its parent.
type Queue[T any] struct {
	heap []cell[T]
}

// cell repeats a time before which the item is not due, so that sifting follows no pointers.
type cell[T any] struct {
	atMS int64
	item *Item[T]
}

const arity = 4

// Len returns the number of items.
func (q *Queue[T]) Len() int { return len(q.heap) }

// Set gives an item the time atMS, and adds it to the queue if it is not in the queue yet.
func (q *Queue[T]) Set(it *Item[T], atMS int64) {
	it.atMS = atMS
	if it.place == 0 {
		q.heap = append(q.heap, cell[T]{atMS, it})
		q.up(len(q.heap) - 1)
		return
	}
	if i := it.place - 1; atMS < q.heap[i].atMS {
		q.heap[i].atMS = atMS
		q.up(i)
	}
}

// Remove removes an item. It does nothing if the item is in no queue.
func (q *Queue[T]) Remove(it *Item[T]) {
	if it.place == 0 {
		return
	}
	i, last := it.place-1, len(q.heap)-1
	it.place = 0
	moved := q.heap[last]
	q.heap[last] = cell[T]{}
	q.heap = q.heap[:last]
	if i == last {
		return
	}
	q.heap[i] = moved
	moved.item.place = i + 1
	if i > 0 && moved.atMS < q.heap[(i-1)/arity].atMS {
		q.up(i)
		return
	}
	q.down(i)
}

// RemoveAll removes every item for which drop returns true, in one pass.
func (q *Queue[T]) RemoveAll(drop func(it *Item[T]) bool) {
	kept := q.heap[:0]
	for _, c := range q.heap {
		if drop(c.item) {
			c.item.place = 0
		} else {
			kept = append(kept, c)
		}
	}
	clear(q.heap[len(kept):])
	q.heap = kept
	for i := range q.heap {
		q.heap[i].item.place = i + 1
	}
	for i := len(q.heap)/arity + 1; i >= 0; i-- {
		if i < len(q.heap) {
			q.down(i)
		}
	}
}

// NextMS returns a time before which no item is due; false if the queue is empty. The time may be too early,
// if the first item was postponed.
func (q *Queue[T]) NextMS() (int64, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].atMS, true
}

// Pop removes and returns the first item that is due at nowMS, or nil. steps limits the work: it is
// decremented for every item that turns out to be postponed, and Pop gives up at zero.
func (q *Queue[T]) Pop(nowMS int64, steps *int) *Item[T] {
	it := q.Peek(nowMS, steps)
	if it != nil {
		q.Remove(it)
	}
	return it
}

// Peek returns the item that Pop would return, and leaves it in the queue.
func (q *Queue[T]) Peek(nowMS int64, steps *int) *Item[T] {
	for len(q.heap) > 0 && q.heap[0].atMS <= nowMS && *steps > 0 {
		it := q.heap[0].item
		if it.atMS == q.heap[0].atMS {
			return it
		}
		*steps--
		q.heap[0].atMS = it.atMS
		q.down(0)
	}
	return nil
}

func (q *Queue[T]) up(i int) {
	c := q.heap[i]
	for i > 0 {
		p := (i - 1) / arity
		if q.heap[p].atMS <= c.atMS {
			break
		}
		q.heap[i] = q.heap[p]
		q.heap[i].item.place = i + 1
		i = p
	}
	q.heap[i] = c
	c.item.place = i + 1
}

func (q *Queue[T]) down(i int) {
	c, n := q.heap[i], len(q.heap)
	for {
		first := i*arity + 1
		if first >= n {
			break
		}
		least := first
		for j := first + 1; j < min(first+arity, n); j++ {
			if q.heap[j].atMS < q.heap[least].atMS {
				least = j
			}
		}
		if q.heap[least].atMS >= c.atMS {
			break
		}
		q.heap[i] = q.heap[least]
		q.heap[i].item.place = i + 1
		i = least
	}
	q.heap[i] = c
	c.item.place = i + 1
}

// Earliest visits at most n items, the first to fall due first. An item that was postponed may come too early
// in this order.
func (q *Queue[T]) Earliest(n int, visit func(it *Item[T])) {
	var next []int // places of the items that may be the next, the last of them first
	add := func(i int) {
		if i < len(q.heap) {
			at, _ := slices.BinarySearchFunc(next, q.heap[i].atMS, func(j int, atMS int64) int { return cmp.Compare(atMS, q.heap[j].atMS) })
			next = slices.Insert(next, at, i)
		}
	}
	add(0)
	for ; n > 0 && len(next) > 0; n-- {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		visit(q.heap[i].item)
		for child := i*arity + 1; child <= i*arity+arity; child++ {
			add(child)
		}
	}
}
