package wait

import (
	"strings"

	"lockserver/commands"
	"lockserver/internal/waiting"
)

// refusal is a deadlock cycle that a wait would have closed.
type refusal struct {
	atMS   int64
	db     int
	words  []string // as in the error: an owner, the lock it waits for, the owner that holds that, and so on
	cut    bool     // a word, or the cycle, is longer
	client ClientInfo
	id     int64
}

// refusals are the cycles that were refused lately.
type refusals struct {
	Total uint64
	last  []refusal // that of number i, from 0 on, at i modulo refusalsKept; nil until there is one
}

// refusalsKept is how many are kept.
const refusalsKept = 64

// hiddenLock stands for a lock of a cycle that the refused client may not read.
const hiddenLock = "?"

// refuseDeadlock records a cycle, and lists it for the client of the first wait in it.
func (ws *Waits) refuseDeadlock(cycle waiting.Cycle) error {
	w := ParkedOf(cycle[0].Waiter)
	var words, shown []string
	for _, l := range cycle {
		owner, key := l.Waiter.Owner(), l.Key
		words = append(words, owner, key)
		if !w.Party.User.MayRead(l.Waiter.DB(), []byte(key)) {
			key = hiddenLock
		}
		shown = append(shown, owner, key)
	}
	words = append(words, words[0])
	err := commands.ErrDeadlock(append(shown, words[0]))
	r := refusal{atMS: ws.Store.NowMS(), db: w.DB(), client: w.Party.Info, id: w.Party.Number}
	const mostWords, mostBytes = 33, 128
	if r.cut = len(words) > mostWords; r.cut {
		words = words[:mostWords]
	}
	for _, word := range words {
		r.cut = r.cut || len(word) > mostBytes
		r.words = append(r.words, strings.Clone(word[:min(len(word), mostBytes)]))
	}
	refused := &ws.Refused
	if refused.last == nil {
		refused.last = make([]refusal, refusalsKept)
	}
	refused.last[refused.Total%refusalsKept] = r
	refused.Total++
	ws.Stats.LocksOf(r.db).Deadlocks++
	return err
}
