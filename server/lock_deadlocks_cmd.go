package server

import (
	"strings"

	"lockserver/commands"
	"lockserver/internal/waiting"
	"lockserver/server/acl"
)

// refusal is a deadlock cycle that a wait would have closed.
type refusal struct {
	atMS   int64
	db     int
	words  []string // as in the error: an owner, the lock it waits for, the owner that holds that, and so on
	cut    bool     // a word, or the cycle, is longer
	client clientInfo
	id     int64
}

// refusals are the cycles that were refused lately.
type refusals struct {
	total uint64
	last  []refusal // that of number i, from 0 on, at i modulo refusalsKept; nil until there is one
}

// refusalsKept is how many are kept.
const refusalsKept = 64

// hiddenLock stands for a lock of a cycle that the refused client may not read.
const hiddenLock = "?"

// refuseDeadlock records a cycle, and lists it for the client of the first wait in it.
func (ws *waits) refuseDeadlock(cycle waiting.Cycle) error {
	w := parkedOf(cycle[0].Waiter)
	var words, shown []string
	for _, l := range cycle {
		owner, key := l.Waiter.Owner(), l.Key
		words = append(words, owner, key)
		if !w.party.user.MayRead(l.Waiter.DB(), []byte(key)) {
			key = hiddenLock
		}
		shown = append(shown, owner, key)
	}
	words = append(words, words[0])
	err := commands.ErrDeadlock(append(shown, words[0]))
	r := refusal{atMS: ws.store.NowMS(), db: w.DB(), client: w.party.info, id: w.party.id}
	const mostWords, mostBytes = 33, 128
	if r.cut = len(words) > mostWords; r.cut {
		words = words[:mostWords]
	}
	for _, word := range words {
		r.cut = r.cut || len(word) > mostBytes
		r.words = append(r.words, strings.Clone(word[:min(len(word), mostBytes)]))
	}
	refused := &ws.refused
	if refused.last == nil {
		refused.last = make([]refusal, refusalsKept)
	}
	refused.last[refused.total%refusalsKept] = r
	refused.total++
	ws.stats.LocksOf(r.db).Deadlocks++
	return err
}

// lockDeadlocks shows the cycles of locks that the client may read.
func lockDeadlocks(c *commands.Ctx) error {
	most, err := countOption(c.Args())
	if err != nil {
		return err
	}
	refused, user := &partyOf(c).waits.refused, partyOf(c).user
	var found []*refusal
	for i := range min(refused.total, refusalsKept) {
		r := &refused.last[(refused.total-1-i)%refusalsKept]
		if len(found) < commands.PieceOf(most) && r.readable(user) {
			found = append(found, r)
		}
	}
	out := c.Out
	out.Array(len(found))
	for _, r := range found {
		out.Map(5)
		writeKnown(out, "time", r.atMS)
		out.BulkString("db")
		out.Int(int64(r.db))
		out.BulkString("client")
		writeClientInfo(out, r.id, &r.client)
		out.BulkString("cut")
		out.Bool(r.cut)
		out.BulkString("cycle")
		out.Array(len(r.words))
		for _, word := range r.words {
			out.BulkString(word)
		}
	}
	return nil
}

// readable reports whether a user may read all locks of a cycle. Of one that is cut that is not known.
func (r *refusal) readable(u *acl.User) bool {
	if u.Unrestricted {
		return true
	}
	for i := 1; i < len(r.words); i += 2 {
		if !u.MayRead(r.db, []byte(r.words[i])) {
			return false
		}
	}
	return !r.cut
}
