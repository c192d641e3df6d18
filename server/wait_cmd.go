package server

import (
	"math"

	"lockserver/commands"
	"lockserver/server/testmode"
)

// waitRows are the commands that wait for what others, and the disk, have of the data.
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

// readWait reads how many milliseconds to wait from startMS on, and returns when that is over; 0: never.
func readWait(a *commands.Scanner, startMS int64) (deadlineMS int64) {
	ms := a.IntOr(commands.ErrTimeout)
	switch {
	case ms < 0:
		a.Fail(commands.ErrTimeoutSign)
	case ms > math.MaxInt64-startMS:
		a.Fail(commands.ErrTimeoutRange)
	case ms > 0 && a.Err() == nil:
		return startMS + ms
	}
	return 0
}

func waitCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	ex := s.executor
	if ex.Follows || ex.looksLikeGroup() && !ex.group.Leads(&s.place) {
		return commands.ErrWaitOnReplica
	}
	a := c.Args()
	n := a.Int()
	deadlineMS := readWait(a, c.CeilNowMS())
	if err := a.Err(); err != nil {
		return err
	}
	if ex.Member != nil {
		c.Out.Int(s.committed())
		return nil
	}
	written := s.Written
	reply := func(c *commands.Ctx) { c.Out.Int(ex.acked(written)) }
	done := func() bool { return ex.acked(written) >= n }
	return s.await(c, deadlineMS, done, reply)
}

// acked is how many replicas have acknowledged what was written. Those that the server only looks like (test
// mode) always have.
func (ex *executor) acked(written int64) int64 {
	if ex.looksLikeGroup() {
		return testmode.Members - 1
	}
	return ex.Replication.Acked(written, false)
}

// waitaofCmd waits until what its client wrote is synced here, and at replicas.
func waitaofCmd(c *commands.Ctx) error {
	a := c.Args()
	local, n := a.IntRange(0, 1), a.Uint()
	deadlineMS := readWait(a, c.CeilNowMS())
	s := sessionOf(c)
	ex := s.executor
	log := ex.Durable.Log()
	switch {
	case a.Err() != nil:
		return a.Err()
	case ex.Follows:
		return commands.ErrWaitAOFOnReplica
	case ex.Member != nil:
		c.Out.Array(2)
		c.Out.Int(1)
		c.Out.Int(s.committed())
		return nil
	case local > 0 && log == nil:
		return commands.ErrWaitAOF
	}
	position, written := s.Mark.Written, s.Written
	synced := func() bool { return log != nil && log.Synced(position) }
	reply := func(c *commands.Ctx) {
		here := int64(0)
		if synced() {
			here = 1
		}
		c.Out.Array(2)
		c.Out.Int(here)
		c.Out.Int(ex.Replication.Acked(written, true))
	}
	done := func() bool { return ex.Replication.Acked(written, true) >= n && (local == 0 || synced()) }
	if err := s.await(c, deadlineMS, done, reply); err != nil {
		return err
	}
	if s.Waiter != nil && log != nil {
		log.SyncSoon()
		if synced() { // between the look and the entry
			go ex.Do(ex.Waits.AnswerWaits)
		}
	}
	return nil
}

// committed is how many other members of the group have on disk what the session has written: with this one
// they are a majority, and more cannot be promised. The reply leaves no sooner than that is so.
func (s *session) committed() int64 {
	s.Tells = true
	return s.executor.Member.Others()
}

// await answers as soon as replicas, and the disk, have what is waited for.
func (s *session) await(c *commands.Ctx, deadlineMS int64, done func() bool, reply func(*commands.Ctx)) error {
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
	if s.Waiter != nil {
		s.executor.Waits.Syncing.Enter(s.Waiter)
		s.executor.Replication.AskAcks()
	}
	return err
}
