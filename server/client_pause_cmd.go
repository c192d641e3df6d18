package server

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
)

func clientUnblock(c *commands.Ctx) error {
	a := c.Args()
	id := a.IntOr(commands.ErrNotInteger)
	asError := false
	if a.More() {
		switch reason := a.Bytes(); {
		case ascii.EqualFold(reason, "timeout"):
		case ascii.EqualFold(reason, "error"):
			asError = true
		default:
			return commands.ErrUnblockReason
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ex := sessionOf(c).executor
	other := ex.clients[id]
	if other == nil || other.waiter == nil && !(other.held && asError) { // Redis ends if it is held, and not asError
		c.Out.Int(0)
		return nil
	}
	if other.held {
		ex.letGo(other)
		other.unblocked = true
		ex.touch(other)
	} else if asError {
		ex.answer(other.waiter, func(*commands.Ctx) error { return commands.ErrUnblocked })
	} else {
		ex.timeOut(other.waiter)
	}
	c.Out.Int(1)
	return nil
}

func clientPause(c *commands.Ctx) error {
	a := c.Args()
	timeout, all := *a, true
	a.Bytes()
	if a.Left() > 1 {
		return commands.ErrSubcommandSyntax("client", c.Argv[1])
	}
	if a.More() {
		word := a.MaybeOption()
		if word == "" {
			return commands.ErrPauseMode
		}
		all = word == "ALL"
	}
	untilMS := readWait(&timeout, c.NowMS())
	if err := timeout.Err(); err != nil {
		return err
	}
	sessionOf(c).executor.pause(untilMS, all)
	c.Out.OK()
	return nil
}

func clientUnpause(c *commands.Ctx) error {
	sessionOf(c).executor.unpause()
	c.Out.OK()
	return nil
}
