package commands

import (
	"lockserver/internal/gcra"
	"lockserver/internal/hotkeys"
	"lockserver/store"
)

// Refusals counts the calls that limiters refused, by key, in bounded memory: Settings.Refusals. A waiting
// call counts when its time is over.
type Refusals struct {
	Hash func(key []byte) uint64
	// Of has the numbers of refused calls and of the units that they asked for.
	Of hotkeys.Sketch
}

// The measures of Refusals.Of.
const (
	RefusedCalls = iota
	RefusedUnits
)

// countRefused counts a call that the limiter at key refused. Most calls of a long stream are not sampled,
// and need no hash.
func (c *Ctx) countRefused(key []byte, cost int64) {
	r := c.Settings.Refusals
	if r == nil || r.Of.Skips(1, cost) {
		return
	}
	if weights := (hotkeys.Sums{RefusedCalls: 1, RefusedUnits: cost}); r.Of.Takes(&weights) {
		r.Of.Put(r.Hash(key), c.DB.ID(), key, weights)
	}
}

// LimiterFullMS returns when the limiter at a key is full, in milliseconds since 1970; 0: it is full, or
// there is no limiter.
func LimiterFullMS(db *store.DB, key []byte) int64 {
	r := db.PeekLive(key)
	if r.Kind() != store.String {
		return 0
	}
	s, ok := gcra.Parse(r.Bytes())
	if !ok {
		return 0
	}
	return s.EndMS()
}
