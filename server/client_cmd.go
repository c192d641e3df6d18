package server

import (
	"fmt"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/server/pubsub"
)

func clientRows() []commands.Row {
	admin := whenever | commands.Admin
	row := func(name, since string, flags commands.Flags, run func(*commands.Ctx) error, summary string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Connection, Since: since, Flags: flags, Run: run,
			Summary: summary, Complexity: "O(1)", Args: args}
	}
	list := row("list", "2.4.0", admin, clientList, "Lists the connections, a line each.",
		commands.Opt(commands.OneOf("normal_master_replica_pubsub", commands.Flag("NORMAL"), commands.Flag("MASTER"),
			commands.Flag("REPLICA"), commands.Flag("PUBSUB")).After("TYPE").From("5.0.0")),
		commands.Opt(commands.Block("id", commands.Int("client-id").Many()).After("ID").From("6.2.0")))
	list.Complexity = "O(N) where N is the number of connections"
	list.Tips = []string{"nondeterministic_output"}
	info := row("info", "6.2.0", whenever, clientInfoCmd, "Tells about this connection, as CLIENT LIST does.")
	info.Tips = []string{"nondeterministic_output"}
	kill := row("kill", "2.4.0", admin, clientKill, "Closes connections.", killGrammar())
	kill.Complexity = list.Complexity
	kill.MinArgs = 3
	unblock := row("unblock", "5.0.0", admin, clientUnblock, "Ends another connection's waiting command.",
		commands.Int("client-id"), commands.Opt(commands.OneOf("timeout_error", commands.Flag("TIMEOUT"), commands.Flag("ERROR"))))
	unblock.Complexity = "O(log N) where N is the number of connections"
	onOff := commands.OneOf("enabled", commands.Flag("ON"), commands.Flag("OFF"))
	return []commands.Row{{Name: "client", Group: commands.Connection, Since: "2.4.0", Flags: commands.KeepsCaching,
		Summary: "Commands about connections.", Complexity: "Depends on the subcommand.",
		Sub: append([]commands.Row{
			row("id", "5.0.0", whenever, clientID, "Returns this connection's number."),
			row("getname", "2.6.9", whenever, clientGetName, "Returns this connection's name."),
			row("setname", "2.6.9", whenever, clientSetName, "Names this connection.", commands.Str("connection-name")),
			row("setinfo", "7.2.0", whenever, clientSetInfo, "Tells which client library uses this connection.",
				commands.OneOf("attr", commands.Str("libname").After("LIB-NAME"), commands.Str("libver").After("LIB-VER"))),
			row("pause", "2.9.50", admin, clientPause, "Holds the commands of all connections for some milliseconds.",
				commands.Int("timeout"), commands.Opt(commands.OneOf("mode", commands.Flag("WRITE"), commands.Flag("ALL")).From("6.2.0"))),
			row("unpause", "6.2.0", admin, clientUnpause, "Ends what CLIENT PAUSE began."),
			info, list, kill, unblock,
			row("no-evict", "7.0.0", admin, clientNoEvict, "Exempts this connection from being closed to save memory.", onOff),
			row("no-touch", "7.2.0", whenever, clientNoTouch, "Decides whether this connection's reads count as uses of a key.", onOff),
			row("reply", "3.2.0", whenever, clientReply, "Decides whether this connection is answered.",
				commands.OneOf("on_off_skip", commands.Flag("ON"), commands.Flag("OFF"), commands.Flag("SKIP"))),
		}, trackingRows()...)}}
}

func killGrammar() commands.Arg {
	types := commands.OneOf("normal_master_slave_pubsub", commands.Flag("NORMAL"), commands.Flag("MASTER").From("3.2.0"),
		commands.Flag("SLAVE"), commands.Flag("REPLICA").From("5.0.0"), commands.Flag("PUBSUB"))
	return commands.OneOf("filter", commands.Str("ip:port"), commands.OneOf("new-format",
		commands.Opt(commands.Int("client-id").After("ID").From("2.8.12")),
		commands.Opt(types.After("TYPE").From("2.8.12")),
		commands.Opt(commands.Str("username").After("USER")),
		commands.Opt(commands.Str("ip:port").After("ADDR")),
		commands.Opt(commands.Str("ip:port").After("LADDR").From("6.2.0")),
		commands.Opt(commands.Str("yes/no").After("SKIPME"))).Many())
}

func clientID(c *commands.Ctx) error {
	c.Out.Int(c.Session.ID())
	return nil
}

func clientGetName(c *commands.Ctx) error {
	if name := sessionOf(c).info.name; name != "" {
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
	sessionOf(c).info.name = string(name)
	c.Out.OK()
	return nil
}

func clientSetInfo(c *commands.Ctx) error {
	a := c.Args()
	what := a.Bytes()
	val := a.Bytes()
	info := &sessionOf(c).info
	switch {
	case ascii.EqualFold(what, "lib-name"):
		if !validName(val) {
			return commands.ErrClientAttribute(string(what))
		}
		info.libName = string(val)
	case ascii.EqualFold(what, "lib-ver"):
		if !validName(val) {
			return commands.ErrClientAttribute(string(what))
		}
		info.libVersion = string(val)
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
	sessionOf(c).noEvict = on
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
		s.replies = replyOn
		c.Out.OK()
	case word == "OFF":
		s.replies = replyOff
	case s.replies != replyOff:
		s.replies = replySkipNext
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
	if other == nil || other.waiter == nil {
		c.Out.Int(0)
		return nil
	}
	if asError {
		ex.answer(other.waiter, func(*commands.Ctx) error { return commands.ErrUnblocked })
	} else {
		ex.timeOut(other.waiter)
	}
	c.Out.Int(1)
	return nil
}

// killFilter is what CLIENT KILL selects connections by; every part that is set must fit.
type killFilter struct {
	id         int64
	hasID      bool
	kind       string
	user       string
	addr       string
	localAddr  string
	maxAgeS    int64
	includesMe bool
}

func clientKill(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() == 1 {
		return killByAddr(c, string(a.Bytes()))
	}
	f, err := readKillFilter(a)
	if err != nil {
		return err
	}
	me := sessionOf(c)
	n := int64(0)
	for _, s := range me.executor.sortedClients() {
		if !f.fits(s) || s == me && !f.includesMe {
			continue
		}
		n++
		if s == me {
			s.closing = true // after the reply
		} else {
			s.executor.condemn(s)
		}
	}
	c.Out.Int(n)
	return nil
}

func killByAddr(c *commands.Ctx, addr string) error {
	me := sessionOf(c)
	for _, s := range me.executor.sortedClients() {
		if s.info.addr != addr {
			continue
		}
		if s == me {
			s.closing = true
		} else {
			s.executor.condemn(s)
		}
		c.Out.OK()
		return nil
	}
	return commands.ErrNoSuchClient
}

func readKillFilter(a *commands.Scanner) (f killFilter, err error) {
	for a.More() {
		if a.Left()%2 != 0 {
			return f, commands.ErrSyntax
		}
		word, val := a.Bytes(), a.Bytes()
		switch {
		case ascii.EqualFold(word, "id"):
			id, ok := decimal.ParseInt(val)
			if !ok || id < 1 {
				return f, commands.ErrClientIDSign
			}
			f.id, f.hasID = id, true
		case ascii.EqualFold(word, "type"):
			if f.kind = clientType(val); f.kind == "" {
				return f, commands.ErrClientType(val)
			}
		case ascii.EqualFold(word, "addr"):
			f.addr = string(val)
		case ascii.EqualFold(word, "laddr"):
			f.localAddr = string(val)
		case ascii.EqualFold(word, "user"):
			if f.user = string(val); f.user != "default" {
				return f, commands.ErrNoSuchUser(val)
			}
		case ascii.EqualFold(word, "maxage"):
			n, ok := decimal.ParseInt(val)
			if !ok || n < 1 {
				return f, commands.ErrMaxAge
			}
			f.maxAgeS = n
		case ascii.EqualFold(word, "skipme") && ascii.EqualFold(val, "yes"):
			f.includesMe = false
		case ascii.EqualFold(word, "skipme") && ascii.EqualFold(val, "no"):
			f.includesMe = true
		default:
			return f, commands.ErrSyntax
		}
	}
	return f, a.Err()
}

func (f *killFilter) fits(s *session) bool {
	age := (s.executor.store.NowUS() - s.info.createdUS) / 1_000_000
	return (!f.hasID || s.id == f.id) && (f.kind == "" || s.kind() == f.kind) &&
		(f.addr == "" || s.info.addr == f.addr) && (f.localAddr == "" || s.info.localAddr == f.localAddr) &&
		(f.user == "" || s.authenticated) && (f.maxAgeS == 0 || age >= f.maxAgeS)
}

func clientList(c *commands.Ctx) error {
	a := c.Args()
	kind, ids := "", []int64(nil)
	switch {
	case a.Left() == 2 && a.IsNext("TYPE"):
		word := a.Bytes()
		if kind = clientType(word); kind == "" {
			return commands.ErrClientType(word)
		}
	case a.Left() > 1 && a.IsNext("ID"):
		for a.More() {
			id, ok := decimal.ParseInt(a.Bytes())
			if !ok {
				return commands.ErrClientID
			}
			ids = append(ids, id)
		}
	case a.More():
		return commands.ErrSyntax
	}
	ex := sessionOf(c).executor
	var b strings.Builder
	if ids != nil {
		for _, id := range ids {
			if s := ex.clients[id]; s != nil {
				s.describe(&b)
			}
		}
	} else {
		for _, s := range ex.sortedClients() {
			if kind == "" || s.kind() == kind {
				s.describe(&b)
			}
		}
	}
	c.Out.Verbatim("txt", b.String())
	return nil
}

func clientInfoCmd(c *commands.Ctx) error {
	var b strings.Builder
	sessionOf(c).describe(&b)
	c.Out.Verbatim("txt", b.String())
	return nil
}

// sortedClients returns the sessions in the order in which they connected.
func (ex *executor) sortedClients() []*session {
	list := make([]*session, 0, len(ex.clients))
	for _, s := range ex.clients {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *session) int { return int(a.id - b.id) })
	return list
}

// clientType returns the type of connections that a word of CLIENT LIST TYPE means; empty: none.
func clientType(word []byte) string {
	switch {
	case ascii.EqualFold(word, "normal"):
		return "normal"
	case ascii.EqualFold(word, "master"):
		return "master"
	case ascii.EqualFold(word, "replica"), ascii.EqualFold(word, "slave"):
		return "replica"
	case ascii.EqualFold(word, "pubsub"):
		return "pubsub"
	}
	return ""
}

// kind is the session's type of connection.
func (s *session) kind() string { return s.class.String() }

// describe writes the session's line of CLIENT LIST. Figures that only make sense for another
// implementation's buffers are zero.
func (s *session) describe(b *strings.Builder) {
	nowUS := s.executor.store.NowUS()
	cmd := "NULL"
	if s.lastRow != nil {
		cmd = s.lastRow.FullName()
	}
	queued := -1
	if s.multi != nil {
		queued = len(s.multi.queued)
	}
	var listens [pubsub.Kinds]int
	if s.subs != nil {
		for kind := range listens {
			listens[kind] = s.subs.Len(pubsub.Kind(kind))
		}
	}
	output := s.outputBytes()
	fmt.Fprintf(b, "id=%d addr=%s laddr=%s fd=%d name=%s age=%d idle=%d flags=%s db=%d sub=%d psub=%d ssub=%d multi=%d "+
		"qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=%d oll=%d omem=%d tot-mem=%d events=r cmd=%s "+
		"user=default redir=%d resp=%d lib-name=%s lib-ver=%s\n",
		s.id, s.info.addr, s.info.localAddr, s.info.fd, s.info.name, (nowUS-s.info.createdUS)/1_000_000,
		(nowUS-s.info.lastUS)/1_000_000, s.flags(), s.db.ID(), listens[pubsub.Channel], listens[pubsub.Pattern], listens[pubsub.Shard],
		queued, output, len(s.inbox), output, output, cmd, s.redirection(), s.out.Proto, s.info.libName, s.info.libVersion)
}

// flags are the session's letters in CLIENT LIST, in Redis' order.
func (s *session) flags() string {
	flags := ""
	for _, f := range []struct {
		letter string
		is     bool
	}{
		{"O", s.monitors},
		{"P", s.subs != nil},
		{"x", s.multi != nil},
		{"b", s.waiter != nil},
		{"t", s.tracker != nil},
		{"R", s.tracker != nil && s.tracker.Broken},
		{"B", s.tracker != nil && s.tracker.BCast},
		{"d", s.watchedChanged},
		{"c", s.closing},
		{"U", strings.HasSuffix(s.info.addr, ":0")},
		{"e", s.noEvict},
		{"T", s.noTouch},
	} {
		if f.is {
			flags += f.letter
		}
	}
	if flags == "" {
		return "N"
	}
	return flags
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
	if untilMS > 0 {
		sessionOf(c).executor.pause(untilMS, all)
	}
	c.Out.OK()
	return nil
}

func clientUnpause(c *commands.Ctx) error {
	sessionOf(c).executor.unpause()
	c.Out.OK()
	return nil
}
