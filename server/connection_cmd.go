package server

import (
	"math"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/internal/resp"
	"lockserver/server/acl"
	"lockserver/server/topology"
)

func connectionRows() []commands.Row {
	anyone := whenever | commands.Fast | commands.NoAuth | commands.AllowBusy
	leave := anyone | commands.Immediate | commands.WhileSubscribed
	easy := commands.Loading | commands.Stale | commands.Fast
	return []commands.Row{
		{Name: "hello", Group: commands.Connection, Since: "6.0.0", Flags: anyone, Run: helloCmd, Secrets: helloSecrets,
			Summary: "Chooses the protocol version, logs in, and tells about the server.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Block("arguments", commands.Int("protover"),
				commands.Opt(commands.Block("auth", commands.Str("username"), commands.Str("password")).After("AUTH")),
				commands.Opt(commands.Str("clientname").After("SETNAME"))))}},
		{Name: "auth", Group: commands.Connection, Since: "1.0.0", Flags: anyone, Run: authCmd, Secrets: authSecrets,
			Summary: "Logs the connection in.", Complexity: "O(N) where N is the number of passwords of the user",
			Args: []commands.Arg{commands.Opt(commands.Str("username").From("6.0.0")), commands.Str("password")}},
		{Name: "ping", Group: commands.Connection, Since: "1.0.0", Run: pingCmd,
			Flags:   commands.Fast | commands.WhileSubscribed | commands.NeedsDisk,
			Tips:    []string{"request_policy:all_shards", "response_policy:all_succeeded"},
			Summary: "Answers PONG, or what it was sent.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Opt(commands.Str("message"))}},
		{Name: "echo", Group: commands.Connection, Since: "1.0.0", Flags: easy, Run: echoCmd,
			Summary: "Answers what it was sent.", Complexity: "O(1)",
			Args: []commands.Arg{commands.Str("message")}},
		{Name: "select", Group: commands.Connection, Since: "1.0.0", Flags: easy | commands.InLog, Run: selectCmd,
			Summary: "Chooses the database that the connection works on.", Complexity: "O(1)",
			Args:      []commands.Arg{commands.Int("index")},
			Databases: commands.Databases{NotOwn: true, Named: func(_ [][]byte, dst []int) []int { return append(dst, 1) }}},
		{Name: "quit", Group: commands.Connection, Since: "1.0.0", Flags: leave, Run: quitCmd,
			Summary: "Closes the connection after the replies so far.", Complexity: "O(1)", Deprecated: "7.2.0",
			ReplacedBy: "just closing the connection", MinArgs: 1},
		{Name: "reset", Group: commands.Connection, Since: "6.2.0", Flags: leave, Run: resetCmd,
			Summary: "Makes the connection as it was when it was opened.", Complexity: "O(1)"},
	}
}

// authSecrets are all words of AUTH: the first may be the password as well as the name of a user.
func authSecrets(args [][]byte, dst []int) []int {
	for i := 1; i < len(args); i++ {
		dst = append(dst, i)
	}
	return dst
}

// helloSecrets are the two words behind AUTH. SETNAME may be followed by the word AUTH, as a name.
func helloSecrets(args [][]byte, dst []int) []int {
	for i := 2; i+2 < len(args); i++ {
		switch {
		case ascii.EqualFold(args[i], "auth"):
			dst = append(dst, i+1, i+2)
			i += 2
		case ascii.EqualFold(args[i], "setname"):
			i++
		}
	}
	return dst
}

func pingCmd(c *commands.Ctx) error {
	words := c.Argv[1:]
	if len(words) > 1 {
		return commands.ErrArity("ping")
	}
	if s := sessionOf(c); s.subs != nil && c.Out.Proto < 3 { // so that it looks like a message
		c.Out.Array(2)
		c.Out.BulkString("pong")
		if len(words) == 0 {
			c.Out.BulkString("")
			return nil
		}
	}
	if len(words) == 0 {
		c.Out.Pong()
	} else {
		c.Out.Bulk(words[0])
	}
	return nil
}

func echoCmd(c *commands.Ctx) error {
	c.Out.Bulk(c.Args().Bytes())
	return nil
}

func selectCmd(c *commands.Ctx) error {
	a := c.Args()
	id := a.IntRange(math.MinInt32, math.MaxInt32)
	if err := a.Err(); err != nil {
		return err
	}
	s := sessionOf(c)
	if id != 0 && s.executor.group.IsCluster() {
		return topology.ErrSelect
	}
	db := s.executor.Store.DB(int(id))
	if db == nil {
		return commands.ErrDBIndex
	}
	s.DB = db
	c.Out.OK()
	return nil
}

func quitCmd(c *commands.Ctx) error {
	c.Out.OK()
	sessionOf(c).Closing = true
	return nil
}

func authCmd(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() > 2 {
		return commands.ErrSyntax
	}
	user := []byte(acl.DefaultName)
	named := a.Left() == 2
	if named {
		user = a.Bytes()
	}
	s := sessionOf(c)
	if !named && s.executor.users.Default().NoPass() {
		return commands.ErrNoPassword
	}
	if err := s.logIn(user, a.Bytes(), c.Argv[0]); err != nil {
		return err
	}
	c.Out.OK()
	return nil
}

// helloCmd checks everything before it changes anything but the login, in Redis' order.
func helloCmd(c *commands.Ctx) error {
	a := c.Args()
	s := sessionOf(c)
	proto := c.Out.Proto
	if a.More() {
		v, ok := decimal.ParseInt(a.Bytes())
		if !ok {
			return commands.ErrProtoInteger
		}
		if v < 2 || v > 3 {
			return commands.ErrNoProto
		}
		proto = int(v)
	}
	var user, password, name []byte
	setName := false
	for a.More() {
		switch left := a.Left(); {
		case left >= 3 && a.IsNext("AUTH"):
			user, password = a.Bytes(), a.Bytes()
		case left >= 2 && a.IsNext("SETNAME"):
			name, setName = a.Bytes(), true
		default:
			return commands.ErrHelloOption(a.Peek())
		}
	}
	if user != nil {
		if err := s.logIn(user, password, c.Argv[0]); err != nil {
			return err
		}
	}
	if !s.authenticated {
		return commands.ErrNoAuthHello
	}
	if setName {
		if !validName(name) {
			return commands.ErrClientName
		}
		s.Info.Name = string(name)
	}
	c.Out.Proto = proto
	s.greet(c.Out)
	return nil
}

func (s *session) greet(out *resp.Writer) {
	out.Map(7)
	out.BulkString("server")
	out.BulkString("redis")
	out.BulkString("version")
	out.BulkString(compatibleVersion)
	out.BulkString("proto")
	out.Int(int64(out.Proto))
	out.BulkString("id")
	out.Int(s.Number)
	out.BulkString("mode")
	out.BulkString(s.executor.group.Mode())
	out.BulkString("role")
	out.BulkString(s.role())
	out.BulkString("modules")
	out.Array(0)
}

// validName reports whether a client's name may be set: printable ASCII without blanks.
func validName(name []byte) bool {
	for _, b := range name {
		if b < '!' || b > '~' {
			return false
		}
	}
	return true
}

func resetCmd(c *commands.Ctx) error {
	s := sessionOf(c)
	s.DB = s.executor.Store.DB(0)
	s.Info.Name = ""
	s.mute.mode &= replySkip // its own reply is dropped if that was said
	s.noTouch, s.place.ReadOnly = false, false
	s.executor.Memory.Clients.SetExempt(&s.memory, false)
	s.discard()
	s.unsubscribeAll()
	trackingCaller{s}.Stop()
	s.executor.Waits.DetachAll(&s.Party)
	s.executor.Waits.DetachedFrom(&s.Party, nil, true)
	s.stopMonitoring()
	c.Out.Proto = 2
	s.beDefault()
	c.Out.Simple("RESET")
	return nil
}
