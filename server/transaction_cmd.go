package server

import "lockserver/commands"

func transactionRows() []commands.Row {
	easy := whenever | commands.Fast | commands.AllowBusy | commands.Immediate
	return []commands.Row{
		{Name: "multi", Group: commands.Transactions, Since: "1.2.0", Flags: easy, Run: multiCmd,
			Summary: "Begins a transaction: commands are queued until EXEC.", Complexity: "O(1)"},
		{Name: "exec", Group: commands.Transactions, Since: "1.2.0", Run: execCmd,
			Flags:      whenever | commands.SkipSlowlog | commands.Immediate | commands.RunsQueue,
			Summary:    "Runs the queued commands as one, unless a watched key has changed.",
			Complexity: "Depends on the queued commands"},
		{Name: "discard", Group: commands.Transactions, Since: "2.0.0", Flags: easy, Run: discardCmd,
			Summary: "Gives a transaction up.", Complexity: "O(N) where N is the number of queued commands"},
		{Name: "watch", Group: commands.Transactions, Since: "2.2.0", Flags: easy, Run: watchCmd,
			Summary: "Makes the next EXEC fail if one of these keys is changed before.", Complexity: "O(1) a key",
			Args: []commands.Arg{commands.Key("key", commands.RO).Many()}},
		{Name: "unwatch", Group: commands.Transactions, Since: "2.2.0", Flags: easy &^ commands.Immediate, Run: unwatchCmd,
			Summary: "Forgets all watched keys.", Complexity: "O(1)"},
	}
}

func multiCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	if s.tx.multi != nil {
		return commands.ErrNestedMulti
	}
	if s.tx.multi = s.tx.spare; s.tx.multi == nil {
		s.tx.multi = new(transaction)
	}
	s.tx.spare = nil
	c.Out.OK()
	return nil
}

// execCmd runs the queued commands. An error of one of them is its reply, and the others
// run all the same, as in Redis.
func execCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	tx := s.tx.multi
	if tx == nil {
		return commands.ErrExecWithoutMulti
	}
	changed := s.tx.watches.Look()
	s.discard() // first: what the transaction itself changes is of no interest
	switch {
	case tx.aborted:
		return commands.ErrExecAbort
	case changed:
		c.Out.NullArray()
		return nil
	}
	ex := s.executor
	whole := c.Out.Mark()
	c.Out.Array(len(tx.queued))
	start := c.Out.Mark()
	if s.mute.mode.isMuted() {
		c.Out.Rollback(whole)
		start = whole
	}
	var inner commands.Ctx
	s.tx.running = tx
	defer func() { s.tx.running = nil }()
	if ex.tracking.Actor() == nil { // no client tracked before: changes of the transaction are sent at its end all the same
		ex.tracking.Act(s)
		defer func() {
			ex.tracking.TellOwn()
			ex.tracking.Act(nil)
		}()
	}
	for _, q := range tx.queued {
		if ex.Failed != nil { // a command before it panicked: the data can no longer be trusted
			return commands.ErrInternal
		}
		mark, over := c.Out.Mark(), s.Closing
		ex.runQueued(&inner, s, q)
		// From CLIENT REPLY OFF to ON, and behind CLIENT KILL, whatever the array's length says, as in Redis.
		if s.mute.mode.isMuted() || over {
			s.mute.drop(&s.Out, mark)
		}
		if s.checkOutput(); s.Terminated { // the transaction goes on, its client does not
			c.Out.Rollback(start)
		}
	}
	s.mute.mode |= replyDone
	s.tx.reuse(tx)
	return nil
}

// runQueued runs one command of a transaction; its error becomes its reply.
func (ex *executor) runQueued(c *commands.Ctx, s *session, q queuedCommand) {
	mark := s.Out.Mark()
	ex.Prepare(c, &s.Party, q.row, q.argv)
	c.MayBlock = false
	handler := q.row.Run
	if ex.tracking.InUse() {
		handler = func(c *commands.Ctx) error { return ex.tracking.Run(c, s) }
	}
	run := func() error { return ex.Contain(q.row, func() error { return handler(c) }) }
	err := s.permitQueued(q)
	if err != nil {
	} else if ex.Gauge.Timed[q.row.Index()] {
		err = ex.countMeasured(s, q.row, q.argv, run)
	} else {
		err = ex.CountNested(q.row, run)
	}
	if len(ex.monitors) > 0 {
		ex.show(s, q.row, s.DB.ID(), q.argv)
	}
	if err != nil {
		ex.Refuse(&s.Party, mark, err)
	}
}

func discardCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	if s.tx.multi == nil {
		return commands.ErrDiscardNoMulti
	}
	s.discard()
	c.Out.OK()
	return nil
}

func watchCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	if s.tx.multi != nil {
		return commands.ErrWatchInsideMulti
	}
	ex := s.executor
	if !s.tx.watches.Changed() { // otherwise the next EXEC fails whatever else is watched
		for _, key := range c.Args().Rest() {
			ex.watching.Add(&s.tx.watches, s.DB, key)
		}
		ex.observe()
	}
	c.Out.OK()
	return nil
}

func unwatchCmd(c *commands.Ctx) error {
	sessionOf(c).unwatch()
	c.Out.OK()
	return nil
}

// reuse keeps the memory of a transaction that has ended for the session's next one.
func (t *transactions) reuse(tx *transaction) {
	if cap(tx.args) > mostSpareWords || cap(tx.text) > mostSpareText {
		return
	}
	clear(tx.queued)
	clear(tx.args)
	*tx = transaction{queued: tx.queued[:0], args: tx.args[:0], text: tx.text[:0]}
	t.spare = tx
}

// A session keeps memory of an ended transaction for its next one, up to these limits.
const (
	mostSpareWords = 128
	mostSpareText  = 4 << 10
)
