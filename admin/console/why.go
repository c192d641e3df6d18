package console

import (
	"strconv"

	"lockserver/internal/call"
)

// Why a lock is not free, in words: its holders, and the locks that they wait for themselves, and so on.

// The limits of an explanation: locks in a chain, and holders of one lock that are asked about.
const (
	mostSteps  = 8
	mostAsked  = 4
	waitsAsked = 4
)

// whyStep is one lock of the chain.
type whyStep struct {
	Waiter string    // the holder of the lock before, which waits for this lock; empty: it is the first lock
	Lock   *lockView // nil: the lock is free by now
	Key    string
	DB     int
}

// explain returns the chain of waits behind a lock, the lock itself first.
func explain(who *viewer, lock *lockView) (chain []whyStep, err error) {
	chain = []whyStep{{Lock: lock, Key: lock.Key, DB: lock.DB}}
	if !who.may("LOCK.WAITERS") {
		return chain, nil
	}
	seen := map[string]bool{lock.Key: true}
	for at := 0; at < len(chain) && len(chain) < mostSteps; at++ {
		if chain[at].Lock == nil {
			continue
		}
		for _, h := range chain[at].Lock.Holders[:min(len(chain[at].Lock.Holders), mostAsked)] {
			keys, err := waitsOf(who, lock.DB, h.Owner)
			if err != nil {
				return nil, err
			}
			for _, key := range keys {
				if seen[key] || len(chain) == mostSteps {
					continue
				}
				seen[key] = true
				locks, err := readLocks(who, lock.DB, []string{key}, 1)
				if err != nil {
					return nil, err
				}
				step := whyStep{Waiter: h.Owner, Key: key, DB: lock.DB}
				if len(locks) > 0 {
					step.Lock = &locks[0]
				}
				chain = append(chain, step)
			}
		}
	}
	return chain, nil
}

// waitsOf returns the locks that an owner waits for.
func waitsOf(who *viewer, db int, owner string) (keys []string, err error) {
	replies, err := who.conn.All([]string{"SELECT", strconv.Itoa(db)}, []string{"LOCK.WAITERS", "OWNER", owner, "COUNT", strconv.Itoa(waitsAsked)})
	if err == nil {
		err = call.Failure(replies...)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range replies[1].Elems {
		for _, pair := range call.FieldsOf(w).List("locks") {
			if len(pair.Elems) > 0 {
				keys = append(keys, pair.Elems[0].Str)
			}
		}
	}
	return keys, nil
}
