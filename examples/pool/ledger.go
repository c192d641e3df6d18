package main

import (
	"errors"
	"sync"

	"lockserver/client"
)

// errStale refuses a write.
var errStale = errors.New("a later token has been used already")

// ledger is what the locks are for: data that is not in lockserver, as the tables of a database. It knows the
// highest token that has written, and refuses lower ones, so that a late worker does no harm. It also records
// which workers are at work, and reports violations.
type ledger struct {
	history *history
	mu      sync.Mutex
	parts   [len(names)]part
}

// part is what one lock is for.
type part struct {
	highest int64 // token
	inside  []int // the workers who are at work
	writes  int
	// How often the group has acknowledged a count, and how often the result is unknown.
	acknowledged, unknown int64
}

func newLedger(h *history) *ledger { return &ledger{history: h} }

// enter records that a worker begins after it got the lock. Its token must be the highest.
func (l *ledger) enter(lock, worker int, token int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.parts[lock]
	if len(p.inside) > 0 {
		l.history.isWrong("%s: worker %d begins while worker %d is at work", names[lock], worker+1, p.inside[0]+1)
	}
	if token <= p.highest {
		l.history.isWrong("%s: worker %d was given the token %d after %d", names[lock], worker+1, token, p.highest)
	}
	p.inside, p.highest = append(p.inside, worker), max(p.highest, token)
}

// write is one write of a worker with a token.
func (l *ledger) write(lock, worker int, token int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.parts[lock]
	if token < p.highest {
		l.history.isWrong("%s: worker %d writes with the token %d after %d: it is refused", names[lock], worker+1, token, p.highest)
		return errStale
	}
	p.writes++
	l.history.wrote()
	return nil
}

// leave says that a worker does no more, before it lets go of the lock.
func (l *ledger) leave(lock, worker int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &l.parts[lock]
	for i, w := range p.inside {
		if w == worker {
			p.inside = append(p.inside[:i], p.inside[i+1:]...)
			return
		}
	}
}

// counted records the result of a command under the lock's guard.
func (l *ledger) counted(lock int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch p := &l.parts[lock]; {
	case err == nil:
		p.acknowledged++
	case !errors.Is(err, client.ErrLost): // that one was refused
		p.unknown++
	}
}

// compare looks at what the group has in the end.
func (l *ledger) compare(lock int, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.parts[lock]; n < p.acknowledged || n > p.acknowledged+p.unknown {
		l.history.isWrong("%s: the group has counted %d, has acknowledged %d, and %d more may have been", names[lock], n, p.acknowledged, p.unknown)
	}
}
