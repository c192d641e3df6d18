package wait

import (
	"math"
	"slices"

	"lockserver/commands"
	"lockserver/internal/waiting"
	"lockserver/server/attach"
	"lockserver/store"
	"lockserver/store/renewals"
)

// MovedWait is a wait with NOTIFY that goes along with slots to another shard.
type MovedWait struct {
	User  string   // its name
	Words [][]byte // of the command
	// SinceUS is when the wait began, in microseconds since 1970. DeadlineMS is when it ends, in
	// milliseconds; 0: never.
	SinceUS, DeadlineMS int64
}

// MovedWaits visits the waits with NOTIFY for keys that has accepts, in the order in which they began, until
// visit returns false. A wait that has other keys as well is left out.
func MovedWaits(ws *Waits, has func(key []byte) bool, visit func(w MovedWait) bool) {
	for w := ws.Queues.Oldest(); w != nil; w = w.Later() {
		of, ok := w.Call().(*queuedWait)
		if !ok || !hasAll(ws.keysOf(&of.Parked), has) {
			continue
		}
		if !visit(MovedWait{of.Party.User.Name(), of.Words.Argv(), of.sinceUS, of.DeadlineMS()}) {
			return
		}
	}
}

// queueing are the commands that have NOTIFY.
var queueing = []string{"lock", "mlock", "sem.acquire", "limit.take", "limit.mtake"}

// EnterMoved puts a wait that comes from another shard at the end of its queues. Nothing has waited here for
// its keys before, and its owner does not hold them: the other shard would have granted the wait. p is an
// ended party of the wait's user. The wait keeps its place as if its session had just ended: the caller calls
// LeavePlaces. The wait gets its turn when the unit is over. An error says why it does not enter.
func EnterMoved(p *Party, table *commands.Table, w *MovedWait) error {
	ws := p.Waits
	row, err := table.Resolve(w.Words)
	if err == nil && !slices.Contains(queueing, row.Name) {
		err = commands.Error("ERR no wait of this command can move")
	}
	if err == nil {
		err = p.Client.PermitIn(p.User, p.DB, row, w.Words)
	}
	if err != nil {
		return err
	}
	c := &commands.Ctx{}
	ws.Shard.Prepare(c, p, row, w.Words)
	ws.queuedOut.Rollback(0)
	c.Out, c.Queues = &ws.queuedOut, behindAll{c.Queues}
	qs := p.queuedOf()
	qs.moved = &movedTimes{w.SinceUS, w.DeadlineMS}
	defer func() { qs.moved = nil }()
	if err = ws.contain(row, func() error { return row.Run(c) }); err != nil {
		return err
	}
	if of := qs.First; of != nil {
		for pl := of.First(); pl != nil; pl = pl.Sibling() {
			ws.Queues.MakeReady(ws.Queues.Of(of.DB(), []byte(pl.Key())))
		}
	}
	return nil
}

// behindAll are queues in which another call always waits before the caller. So a call waits without a try.
type behindAll struct{ commands.Queues }

// Awaited implements commands.Queues.
func (behindAll) Awaited(int, []byte) bool { return true }

// EndMoved ends what waits here for keys that another shard has now; has reports whether it has a key. Waits
// with NOTIFY are refused with the reason failover, so that their owners ask the other shard. Grants that are
// not confirmed yet stay with their owners, who confirm them there. The clients that are blocked have had
// their answers. It returns the connections that are attached to owners of locks there, or that the server
// renews such locks for.
func EndMoved(ws *Waits, has func(key []byte) bool) (expect []*Party) {
	for w := ws.Queues.Oldest(); w != nil; {
		next := w.Later()
		if of, ok := w.Call().(*queuedWait); ok && hasAny(ws.keysOf(&of.Parked), has) {
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

// hasAll reports whether has accepts all keys.
func hasAll(keys [][]byte, has func(key []byte) bool) bool {
	return !hasAny(keys, func(key []byte) bool { return !has(key) })
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
