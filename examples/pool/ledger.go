package main

import (
	"errors"
	"sync"

	"lockserver/client"
)

// errStale is the error of a write with an old token.
var errStale = errors.New("a later token has been used already")

// ledger is the data that the locks protect. Like the tables of a database, it is not in lockserver. It
// remembers the highest token that has written, and refuses lower ones, so that a late worker does no harm.
// It also records which workers are at work, and reports violations.
type ledger struct {
	history *history
	mu      sync.Mutex
	parts   [len(names)]part
}

// part is the data that one lock protects.
type part struct {
	highest int64 // highest token so far
	inside  []int // the workers that work on it now
	writes  int
	// Numbers of increments: acknowledged by the group, and with an unknown result.
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

// write writes once for a worker, with its token.
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

// leave records that a worker has stopped working. It is called before the lock is released.
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
	case !errors.Is(err, client.ErrLost): // otherwise the guard has refused the command
		p.unknown++
	}
}

// compare checks the final count n in the group.
func (l *ledger) compare(lock int, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.parts[lock]; n < p.acknowledged || n > p.acknowledged+p.unknown {
		l.history.isWrong("%s: the group has counted %d, has acknowledged %d, and %d more may have been", names[lock], n, p.acknowledged, p.unknown)
	}
}
