package server

import (
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
	"lockserver/server/acl"
)

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
	me := sessionOf(c)
	ex := me.executor
	var b strings.Builder
	describe := func(s *session) {
		if s == me {
			s.describe(&b, c.Argv)
		} else {
			s.describe(&b, nil)
		}
	}
	if ids != nil {
		for _, id := range ids {
			if s := ex.clients[id]; s != nil {
				describe(s)
			} else if s = ex.masterClient(); s != nil && s.Number == id {
				describe(s)
			}
		}
	} else {
		for _, s := range ex.listedClients() {
			if kind == "" || s.kind() == kind {
				describe(s)
			}
		}
	}
	c.Out.Verbatim("txt", b.String())
	return nil
}

func clientInfoCmd(c *commands.Ctx) error {
	var b strings.Builder
	sessionOf(c).describe(&b, c.Argv)
	c.Out.Verbatim("txt", b.String())
	return nil
}

// listedClients are the sessions and the link to the master, in that order.
func (ex *executor) listedClients() []*session {
	list := ex.sortedClients()
	if s := ex.masterClient(); s != nil {
		list = append(list, s)
		slices.SortFunc(list, func(a, b *session) int { return int(a.Number - b.Number) })
	}
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
func (s *session) kind() string {
	if s.isMaster {
		return "master"
	}
	return s.class.String()
}

func killGrammar() commands.Arg {
	types := commands.OneOf("client-type", commands.Flag("NORMAL"), commands.Flag("MASTER").From("3.2.0"),
		commands.Flag("SLAVE"), commands.Flag("REPLICA").From("5.0.0"), commands.Flag("PUBSUB"))
	return commands.OneOf("filter", commands.Str("old-format").Shown("ip:port").Until("2.8.12"), commands.OneOf("new-format",
		commands.Opt(commands.Int("client-id").After("ID").From("2.8.12")),
		commands.Opt(types.After("TYPE").From("2.8.12")),
		commands.Opt(commands.Str("username").After("USER")),
		commands.Opt(commands.Str("addr").Shown("ip:port").After("ADDR")),
		commands.Opt(commands.Str("laddr").Shown("ip:port").After("LADDR").From("6.2.0")),
		commands.Opt(commands.OneOf("skipme", commands.Flag("YES"), commands.Flag("NO")).After("SKIPME")),
		commands.Opt(commands.Int("maxage").After("MAXAGE").From("7.4.0"))).Many())
}

// killFilter holds the conditions of CLIENT KILL. A connection must meet all conditions that are set.
type killFilter struct {
	id         int64
	hasID      bool
	kind       string
	user       *acl.User
	addr       *string // nil: any
	localAddr  *string
	maxAgeS    int64
	includesMe bool
}

func clientKill(c *commands.Ctx) error {
	a := c.Args()
	if a.Left() == 1 { // the old form
		addr := a.String()
		f := killFilter{addr: &addr, includesMe: true}
		if f.kill(sessionOf(c)) == 0 {
			return commands.ErrNoSuchClient
		}
		c.Out.OK()
		return nil
	}
	me := sessionOf(c)
	f, err := readKillFilter(a, me.executor.users)
	if err != nil {
		return err
	}
	c.Out.Int(f.kill(me))
	return nil
}

// kill ends the connections that are selected, and returns how many they are.
func (f *killFilter) kill(me *session) (n int64) {
	for _, s := range me.executor.listedClients() {
		if !f.fits(s) || s == me && !f.includesMe {
			continue
		}
		n++
		if s == me {
			s.Closing = true // after the reply
		} else if s.isMaster {
			s.executor.Replication.HangUp()
		} else {
			s.executor.terminate(s)
			s.unsubscribeAll() // no longer counted among the receivers of a message
			trackingCaller{s}.Stop()
			s.discard()
		}
	}
	return n
}

func readKillFilter(a *commands.Scanner, users *acl.Users) (f killFilter, err error) {
	for a.More() {
		if a.Left() == 1 {
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
			addr := string(val)
			f.addr = &addr
		case ascii.EqualFold(word, "laddr"):
			addr := string(val)
			f.localAddr = &addr
		case ascii.EqualFold(word, "user"):
			if f.user = users.Find(val); f.user == nil {
				return f, commands.ErrNoSuchUser(val)
			}
		case ascii.EqualFold(word, "maxage"):
			n, ok := decimal.ParseInt(val)
			switch {
			case !ok:
				return f, commands.ErrMaxAgeNotInteger
			case n < 1:
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
	age := (s.executor.Store.NowUS() - s.Info.CreatedUS) / 1_000_000
	return (!f.hasID || s.Number == f.id) && (f.kind == "" || s.kind() == f.kind) &&
		(f.addr == nil || s.Info.Addr == *f.addr) && (f.localAddr == nil || s.Info.LocalAddr == *f.localAddr) &&
		(f.user == nil || s.User == f.user) && (f.maxAgeS == 0 || age >= f.maxAgeS)
}
