package server

import (
	"math"
	"sync/atomic"

	"lockserver/commands"
	"lockserver/server/durability"
)

// waitRows are the commands that wait for what others, and the disk, have of the data. There are no replicas.
func waitRows() []commands.Row {
	return []commands.Row{
		{Name: "wait", Group: commands.Generic, Since: "3.0.0", Flags: commands.Blocking, Run: waitCmd,
			Cats:    commands.CatInstead | commands.CatConnection,
			Summary: "Waits until so many replicas have what this connection wrote.", Complexity: "O(1)",
			Tips: []string{"request_policy:all_shards", "response_policy:agg_min"},
			Args: []commands.Arg{commands.Int("numreplicas"), commands.Int("timeout")}},
		{Name: "waitaof", Group: commands.Generic, Since: "7.2.0", Flags: commands.Blocking, Run: waitaofCmd,
			Cats:    commands.CatInstead | commands.CatConnection,
			Summary: "Waits until what this connection wrote is on disk, here and on so many replicas.", Complexity: "O(1)",
			Tips: []string{"request_policy:all_shards", "response_policy:agg_min"},
			Args: []commands.Arg{commands.Int("numlocal"), commands.Int("numreplicas"), commands.Int("timeout")}},
	}
}

// readWait reads how many milliseconds to wait and returns when that is over; 0: never.
func readWait(a *commands.Scanner, nowMS int64) (deadlineMS int64) {
	ms := a.IntOr(commands.ErrTimeout)
	switch {
	case ms < 0:
		a.Fail(commands.ErrTimeoutSign)
	case ms > math.MaxInt64-nowMS:
		a.Fail(commands.ErrTimeoutRange)
	case ms > 0 && a.Err() == nil:
		return nowMS + ms
	}
	return 0
}

// awaitReplicas answers as soon as there are that many replicas, which is at once
// for none and never for more.
func awaitReplicas(c *commands.Ctx, n, deadlineMS int64, reply func(c *commands.Ctx)) error {
	if n <= 0 {
		reply(c)
		return nil
	}
	return c.Block(commands.Wait{DeadlineMS: deadlineMS, TimedOut: reply})
}

func waitCmd(c *commands.Ctx) error {
	a := c.Args()
	n := a.Int()
	deadlineMS := readWait(a, c.NowMS())
	if err := a.Err(); err != nil {
		return err
	}
	return awaitReplicas(c, n, deadlineMS, func(c *commands.Ctx) { c.Out.Int(0) })
}

// waitaofCmd waits until what its client wrote is synced here. There are no replicas.
func waitaofCmd(c *commands.Ctx) error {
	a := c.Args()
	local, n := a.IntRange(0, 1), a.Uint()
	deadlineMS := readWait(a, c.NowMS())
	s := sessionOf(c)
	log := s.executor.durable.Log()
	if local > 0 && log == nil {
		a.Fail(commands.ErrWaitAOF)
	}
	if err := a.Err(); err != nil {
		return err
	}
	written := s.mark.Written()
	synced := func() bool { return log != nil && log.Synced(written) }
	reply := func(c *commands.Ctx) {
		here := int64(0)
		if synced() {
			here = 1
		}
		c.Out.Array(2)
		c.Out.Int(here)
		c.Out.Int(0)
	}
	done := func() bool { return n <= 0 && (local == 0 || synced()) }
	if done() {
		reply(c)
		return nil
	}
	err := c.Block(commands.Wait{DeadlineMS: deadlineMS, TimedOut: reply, Try: func(c *commands.Ctx) (bool, error) {
		if !done() {
			return false, nil
		}
		reply(c)
		return true, nil
	}})
	if s.waiter != nil && log != nil {
		s.executor.awaitSync(s.waiter, log, written)
	}
	return err
}

// syncWaiters are those who wait in WAITAOF for what they wrote to be synced.
type syncWaiters struct {
	waiters map[*waiter]struct{}
	count   atomic.Int64 // how many they are, for who does not have the executor
}

// awaitSync makes one who waits for a position of the log try again whenever that has been synced.
func (ex *executor) awaitSync(w *waiter, log *durability.Log, position int64) {
	ex.syncing.waiters[w] = struct{}{}
	ex.syncing.count.Store(int64(len(ex.syncing.waiters)))
	log.SyncSoon()
	if log.Synced(position) { // between the look and the entry
		go ex.do(ex.answerSynced)
	}
}

// forget is told that a wait is over, however it ended.
func (sw *syncWaiters) forget(w *waiter) {
	delete(sw.waiters, w)
	sw.count.Store(int64(len(sw.waiters)))
}

// answerSynced lets those who wait in WAITAOF try. Who is answered is forgotten.
func (ex *executor) answerSynced() {
	for w := range ex.syncing.waiters {
		ex.try(w)
	}
}
