package wait

import (
	"math"

	"lockserver/internal/waiting"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/renewals"
)

// EndMoved ends what waits here for keys that another shard has now; has reports whether it has a key. Waits
// with NOTIFY are refused with the reason failover, so that their owners ask the other shard. Grants that are
// not confirmed yet stay with their owners, who confirm them there. The clients that are blocked have had
// their answers. It returns the connections that are attached to owners of locks there, or that the server
// renews such locks for.
func EndMoved(ws *Waits, has func(key []byte) bool) (expect []*Party) {
	for w := ws.Queues.Oldest(); w != nil; {
		next := w.Later()
		if of, ok := w.Call().(*queuedWait); ok && hasAny(ws.keysOf(&of.Parked), has) {
			// plant:slots-waiters
			ws.refuseQueued(of, attach.Failover)
		}
		w = next
	}
	var granted []*waiting.Grant
	ws.Grants.Each(func(g *waiting.Grant) bool {
		for _, key := range g.Keys {
			if has([]byte(key)) {
				granted = append(granted, g)
				break
			}
		}
		return true
	})
	for _, g := range granted {
		ws.endGrant(g)
	}
	ws.Watchdog.Attached.EachAt(func(_ int, key string) bool { return has([]byte(key)) }, func(l *attach.Lock[*Party]) {
		all, _ := ws.Watchdog.Attached.All([]byte(l.Owner.Name))
		expect = append(expect, all...)
	})
	return expect
}

// hasAny reports whether has accepts one of some keys.
func hasAny(keys [][]byte, has func(key []byte) bool) bool {
	for _, key := range keys {
		if has(key) {
			return true
		}
	}
	return false
}

// RenewsAny reports whether the server renews a lock for the session, at a key that has accepts.
func (s *Party) RenewsAny(has func(key []byte) bool) (yes bool) {
	if s.keeper == nil {
		return false
	}
	s.Waits.Store.Renewals().EachOf(s.keeper, math.MaxInt, func(_ *store.DB, key string, _ renewals.Renewal) {
		yes = yes || has([]byte(key))
	})
	return yes
}
