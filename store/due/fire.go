package due

// Firer is the action of a timer: for example the deadline of a waiter, or the end of a pause.
type Firer interface {
	// Fire runs when the time has come, in the goroutine that called FireDue. It may set and remove timers.
	Fire()
}

// Timer is the timer of a Firer. Of must be set before the timer is set.
type Timer = Item[Firer]

// Timers is the queue of the timers that are set.
type Timers = Queue[Firer]

// FireDue fires the timers that are due at nowMS, the earliest first, and reports whether there may be more.
// budget limits the work: each timer counts as 1, and so does each unit by which spent rises meanwhile.
func FireDue(ts *Timers, nowMS int64, budget int, spent func() int) (more bool) {
	for budget > 0 {
		t := ts.Pop(nowMS, &budget)
		if t == nil {
			break
		}
		before := spent()
		t.Of.Fire()
		budget -= 1 + spent() - before
	}
	return budget <= 0
}
