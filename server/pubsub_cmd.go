package server

import (
	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

func pubsubRows() []commands.Row {
	listen := commands.UsesPubSub | commands.WhileSubscribed | whenever
	post := commands.UsesPubSub | commands.Loading | commands.Stale | commands.Fast | commands.MayReplicate
	row := func(name, since string, flags commands.Flags, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.PubSub, Since: since, Flags: flags, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	perChannel := "O(N) where N is the number of channels given"
	perPattern := "O(N) where N is the number of patterns given"
	return []commands.Row{
		row("subscribe", "2.0.0", listen, subscribe(byChannel, "subscribe"), "Listens to channels.", perChannel,
			commands.Str("channel").Many()),
		row("unsubscribe", "2.0.0", listen, unsubscribe(byChannel, "unsubscribe"), "Stops listening to channels, or to all.",
			perChannel, commands.Opt(commands.Str("channel").Many())),
		row("psubscribe", "2.0.0", listen, subscribe(byPattern, "psubscribe"), "Listens to all channels whose names match patterns.",
			perPattern, commands.Block("pattern", commands.Pattern("pattern")).Many()),
		row("punsubscribe", "2.0.0", listen, unsubscribe(byPattern, "punsubscribe"), "Stops listening to patterns, or to all.",
			perPattern, commands.Opt(commands.Pattern("pattern").Many())),
		row("ssubscribe", "7.0.0", listen, subscribe(byShard, "ssubscribe"), "Listens to sharded channels.", perChannel,
			commands.Channel("shardchannel").Many()),
		row("sunsubscribe", "7.0.0", listen, unsubscribe(byShard, "sunsubscribe"),
			"Stops listening to sharded channels, or to all.", perChannel, commands.Opt(commands.Channel("shardchannel").Many())),
		row("publish", "2.0.0", post, publish, "Sends a message to everyone who listens to a channel.",
			"O(N+M) where N is the number of listeners and M the number of patterns that anyone listens to",
			commands.Str("channel"), commands.Str("message")),
		row("spublish", "7.0.0", post, spublish, "Sends a message to everyone who listens to a sharded channel.",
			"O(N) where N is the number of listeners", commands.Channel("shardchannel"), commands.Str("message")),
		pubsubRow(),
	}
}

// pubsubRow is PUBSUB, which tells who listens to what.
func pubsubRow() commands.Row {
	ask := commands.UsesPubSub | commands.Loading | commands.Stale
	row := func(name, since string, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.PubSub, Since: since, Flags: ask, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	all, each := "O(N) where N is the number of channels", "O(N) where N is the number of channels given"
	return commands.Row{Name: "pubsub", Group: commands.PubSub, Since: "2.8.0",
		Summary: "Commands that tell who listens to what.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("channels", "2.8.0", listChannels(byChannel), "Lists the channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("numpat", "2.8.0", numPat, "Counts the patterns that anyone listens to.", "O(1)"),
			row("numsub", "2.8.0", countListeners(byChannel), "Counts the listeners of channels, without those by pattern.", each,
				commands.Opt(commands.Str("channel").Many())),
			row("shardchannels", "7.0.0", listChannels(byShard), "Lists the sharded channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("shardnumsub", "7.0.0", countListeners(byShard), "Counts the listeners of sharded channels.", each,
				commands.Opt(commands.Str("shardchannel").Many())),
		}}
}

func subscribe(kind channelKind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		s := sessionOf(c)
		for _, name := range c.Args().Rest() {
			s.executor.pubsub.subscribe(s, kind, name)
			s.confirm(c, kind, word, name)
		}
		return nil
	}
}

func unsubscribe(kind channelKind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		s := sessionOf(c)
		if names := c.Args().Rest(); len(names) > 0 {
			for _, name := range names {
				s.executor.pubsub.unsubscribe(s, kind, name)
				s.confirm(c, kind, word, name)
			}
			return nil
		}
		if s.subs == nil || s.subs[kind].first == nil {
			s.confirm(c, kind, word, nil)
			return nil
		}
		for s.subs != nil && s.subs[kind].first != nil {
			name := []byte(s.subs[kind].first.to.name)
			s.executor.pubsub.unsubscribe(s, kind, name)
			s.confirm(c, kind, word, name)
		}
		return nil
	}
}

// confirm tells a client that it has begun or ceased to listen, and to how much it listens now; name is nil
// if there was nothing. It is told so even if it has switched replies off, as in Redis.
func (s *session) confirm(c *commands.Ctx, kind channelKind, word string, name []byte) {
	w := c.Out
	mute := s.replies == replyOff || s.replies == replySkip
	if mute {
		w = &resp.Writer{Proto: c.Out.Proto}
	}
	n := 0
	switch {
	case s.subs == nil:
	case kind == byShard:
		n = len(s.subs[byShard].byName)
	default:
		n = s.subs.count()
	}
	w.Push(3)
	w.BulkString(word)
	if name != nil {
		w.Bulk(name)
	} else {
		w.Null()
	}
	w.Int(int64(n))
	if mute {
		s.executor.deliver(s, w.Buf)
	}
}

func publish(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	c.Out.Int(c.Host.Publish(channel, a.Bytes()))
	return nil
}

func spublish(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	c.Out.Int(sessionOf(c).executor.publishSharded(channel, a.Bytes()))
	return nil
}

func listChannels(kind channelKind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		a := c.Args()
		if a.Left() > 1 {
			return commands.ErrSubcommandSyntax("pubsub", c.Argv[1])
		}
		var pattern []byte
		if a.More() {
			pattern = a.Bytes()
		}
		list, n := c.Out.DeferArray(), 0
		for name := range sessionOf(c).executor.pubsub.directory(kind) {
			if pattern == nil || glob.Match(pattern, []byte(name), false) {
				c.Out.BulkString(name)
				n++
			}
		}
		c.Out.SetArray(list, n)
		return nil
	}
}

func countListeners(kind channelKind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		names := c.Args().Rest()
		all := sessionOf(c).executor.pubsub.directory(kind)
		c.Out.Array(2 * len(names))
		for _, name := range names {
			c.Out.Bulk(name)
			n := 0
			if to := all[string(name)]; to != nil {
				n = len(to.members)
			}
			c.Out.Int(int64(n))
		}
		return nil
	}
}

func numPat(c *commands.Ctx) error {
	c.Out.Int(int64(len(sessionOf(c).executor.pubsub.patternList)))
	return nil
}
