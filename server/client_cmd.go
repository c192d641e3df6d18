package server

import (
	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/lockhistory"
	"lockserver/server/tracking"
)

func clientRows() []commands.Row {
	admin := whenever | commands.Admin
	row := func(name, since string, flags commands.Flags, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Connection, Since: since, Flags: flags, Run: run,
			Summary: summary, Complexity: "O(1)", Args: args}
	}
	list := row("list", "2.4.0", admin, clientList, "Lists the connections, a line each.",
		commands.Opt(commands.OneOf("client-type", commands.Flag("NORMAL"), commands.Flag("MASTER"),
			commands.Flag("REPLICA"), commands.Flag("PUBSUB")).After("TYPE").From("5.0.0")),
		commands.Opt(commands.Int("client-id").Many().After("ID").From("6.2.0")))
	list.Complexity = "O(N) where N is the number of connections"
	list.Tips = []string{"nondeterministic_output"}
	info := row("info", "6.2.0", whenever, clientInfoCmd, "Tells about this connection, as CLIENT LIST does.")
	info.Tips = []string{"nondeterministic_output"}
	kill := row("kill", "2.4.0", admin, clientKill, "Closes connections.", killGrammar())
	kill.Complexity = list.Complexity
	kill.MinArgs = 3
	unblock := row("unblock", "5.0.0", admin, clientUnblock, "Ends another connection's waiting command.",
		commands.Int("client-id"), commands.Opt(commands.OneOf("unblock-type", commands.Flag("TIMEOUT"), commands.Flag("ERROR"))))
	unblock.Complexity = "O(log N) where N is the number of connections"
	setName := row("setname", "2.6.9", whenever, clientSetName, "Names this connection.", commands.Str("connection-name"))
	setInfo := row("setinfo", "7.2.0", whenever, clientSetInfo, "Tells which client library uses this connection.",
		commands.OneOf("attr", commands.Str("libname").After("LIB-NAME"), commands.Str("libver").After("LIB-VER")))
	for _, r := range []*commands.Row{&setName, &setInfo} {
		r.Tips = []string{"request_policy:all_nodes", "response_policy:all_succeeded"}
	}
	onOff := commands.OneOf("enabled", commands.Flag("ON"), commands.Flag("OFF"))
	return []commands.Row{{Name: "client", Group: commands.Connection, Since: "2.4.0", HelpSince: "5.0.0", Flags: commands.KeepsCaching,
		Summary: "Commands about connections.", Complexity: "Depends on the subcommand.",
		Sub: append([]commands.Row{
			row("id", "5.0.0", whenever, clientID, "Returns this connection's number."),
			row("getname", "2.6.9", whenever, clientGetName, "Returns this connection's name."),
			setName, setInfo,
			row("pause", "3.0.0", admin, clientPause, "Holds the commands of all connections for some milliseconds.",
				commands.Int("timeout"), commands.Opt(commands.OneOf("mode", commands.Flag("WRITE"), commands.Flag("ALL")).From("6.2.0"))),
			row("unpause", "6.2.0", admin, clientUnpause, "Ends what CLIENT PAUSE began."),
			info, list, kill, unblock,
			row("no-evict", "7.0.0", admin, clientNoEvict, "Exempts this connection from being closed to save memory.", onOff),
			row("no-touch", "7.2.0", whenever, clientNoTouch, "Decides whether this connection's reads count as uses of a key.", onOff),
			row("reply", "3.2.0", whenever, clientReply, "Decides whether this connection is answered.",
				commands.OneOf("action", commands.Flag("ON"), commands.Flag("OFF"), commands.Flag("SKIP"))),
		}, tracking.Rows(trackingCallerOf)...)}}
}

func clientID(c *commands.Ctx) error {
	c.Out.Int(c.Session.ID())
	return nil
}

func clientGetName(c *commands.Ctx) error {
	if name := sessionOf(c).Info.Name; name != "" {
		c.Out.BulkString(name)
	} else {
		c.Out.Null()
	}
	return nil
}

func clientSetName(c *commands.Ctx) error {
	name := c.Args().Bytes()
	if !validName(name) {
		return commands.ErrClientName
	}
	sessionOf(c).Info.Name = string(name)
	c.Out.OK()
	return nil
}

func clientSetInfo(c *commands.Ctx) error {
	a := c.Args()
	what := a.Bytes()
	val := a.Bytes()
	info := &sessionOf(c).Info
	switch {
	case ascii.EqualFold(what, "lib-name"):
		if !validName(val) {
			return commands.ErrClientAttribute(string(what))
		}
		info.LibName = string(val)
	case ascii.EqualFold(what, "lib-ver"):
		if !validName(val) {
			return commands.ErrClientAttribute(string(what))
		}
		info.LibVersion = string(val)
	default:
		return commands.ErrUnrecognizedOption(what)
	}
	c.Out.OK()
	return nil
}

// onOrOff reads ON or OFF.
func onOrOff(c *commands.Ctx) (on bool, err error) {
	a := c.Args()
	on = a.Option() == "ON"
	return on, a.Err()
}

func clientNoEvict(c *commands.Ctx) error {
	on, err := onOrOff(c)
	if err != nil {
		return err
	}
	s := sessionOf(c)
	s.executor.Memory.Clients.SetExempt(&s.memory, on)
	c.Out.OK()
	return nil
}

func clientNoTouch(c *commands.Ctx) error {
	on, err := onOrOff(c)
	if err != nil {
		return err
	}
	sessionOf(c).noTouch = on
	c.Out.OK()
	return nil
}

func clientReply(c *commands.Ctx) error {
	a := c.Args()
	word := a.Option()
	if err := a.Err(); err != nil {
		return err
	}
	s := sessionOf(c)
	switch {
	case word == "ON":
		s.mute.mode &^= replyOff | replySkip
		c.Out.OK()
	case word == "OFF":
		s.mute.mode |= replyOff
	case s.mute.mode&replyOff == 0:
		s.mute.mode |= replySkipNext
	}
	return nil
}

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
	if other == nil || other.Waiter == nil && !(other.Held && asError) { // Redis ends if it is held, and not asError
		c.Out.Int(0)
		return nil
	}
	if other.Held {
		ex.Pausing.Resume(&other.Party)
		other.unblocked = true
		ex.Touch(&other.Party)
	} else if ex.Waits.RefuseFor(lockhistory.Unblocked); asError {
		ex.Waits.Answer(other.Waiter, func(*commands.Ctx) error { return commands.ErrUnblocked })
	} else {
		ex.Waits.TimeOut(other.Waiter)
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
	sessionOf(c).executor.Pausing.Begin(untilMS, all)
	c.Out.OK()
	return nil
}

func clientUnpause(c *commands.Ctx) error {
	sessionOf(c).executor.Pausing.End()
	c.Out.OK()
	return nil
}
