package server

import "container/heap"

// timer is something that happens at a time unless it is stopped first: a waiter's deadline, a watchdog's renewal.
type timer struct {
	atMS int64
	fire func() // runs under the executor
	pos  int    // index in timers.heap; -1: not set
}

// timers is the ordered index of all timers. It is only touched under the executor.
type timers struct{ heap timerHeap }

// set makes t fire at atMS, moving it if it is set already.
func (ts *timers) set(t *timer, atMS int64) {
	if t.pos >= 0 {
		t.atMS = atMS
		heap.Fix(&ts.heap, t.pos)
		return
	}
	t.atMS = atMS
	heap.Push(&ts.heap, t)
}

// stop takes t back; it does nothing if t is not set.
func (ts *timers) stop(t *timer) {
	if t.pos >= 0 {
		heap.Remove(&ts.heap, t.pos)
	}
}

func (ts *timers) nextMS() (int64, bool) {
	if len(ts.heap) == 0 {
		return 0, false
	}
	return ts.heap[0].atMS, true
}

// fireDue fires at most budget timers whose time has come, earliest first, and returns how many.
func (ts *timers) fireDue(nowMS int64, budget int) int {
	n := 0
	for ; n < budget && len(ts.heap) > 0 && ts.heap[0].atMS <= nowMS; n++ {
		t := ts.heap[0]
		heap.Pop(&ts.heap)
		t.fire()
	}
	return n
}

// timerHeap implements heap.Interface; every timer knows its place.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].atMS < h[j].atMS }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*timer)
	t.pos = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.pos = -1
	return t
}
