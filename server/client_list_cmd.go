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
		"user=%s redir=%d resp=%d lib-name=%s lib-ver=%s\n",
		s.id, s.info.addr, s.info.localAddr, s.info.fd, s.info.name, (nowUS-s.info.createdUS)/1_000_000,
		(nowUS-s.info.lastUS)/1_000_000, s.flags(), s.db.ID(), listens[pubsub.Channel], listens[pubsub.Pattern], listens[pubsub.Shard],
		queued, output, len(s.inbox), output, output, cmd, s.user.Name(), s.redirection(), s.out.Proto, s.info.libName, s.info.libVersion)
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
