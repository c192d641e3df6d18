package server

import (
	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/resp"
	"lockserver/server/pubsub"
	"lockserver/server/replication"
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
	rows := []commands.Row{
		row("subscribe", "2.0.0", listen, subscribeCmd(pubsub.Channel, "subscribe"), "Listens to channels.", perChannel,
			commands.Str("channel").Many()),
		row("unsubscribe", "2.0.0", listen, unsubscribeCmd(pubsub.Channel, "unsubscribe"), "Stops listening to channels, or to all.",
			perChannel, commands.Opt(commands.Str("channel").Many())),
		row("psubscribe", "2.0.0", listen, subscribeCmd(pubsub.Pattern, "psubscribe"), "Listens to all channels with names that match patterns.",
			perPattern, commands.Pattern("pattern").Many()),
		row("punsubscribe", "2.0.0", listen, unsubscribeCmd(pubsub.Pattern, "punsubscribe"), "Stops listening to patterns, or to all.",
			perPattern, commands.Opt(commands.Pattern("pattern").Many())),
		row("ssubscribe", "7.0.0", listen, subscribeCmd(pubsub.Shard, "ssubscribe"), "Listens to sharded channels.", perChannel,
			commands.Channel("shardchannel").Many()),
		row("sunsubscribe", "7.0.0", listen, unsubscribeCmd(pubsub.Shard, "sunsubscribe"),
			"Stops listening to sharded channels, or to all.", perChannel, commands.Opt(commands.Channel("shardchannel").Many())),
		row("publish", "2.0.0", post, publishCmd, "Sends a message to everyone who listens to a channel.",
			"O(N+M) where N is the number of listeners and M the number of patterns that anyone listens to",
			commands.Str("channel"), commands.Str("message")),
		row("spublish", "7.0.0", post, spublishCmd, "Sends a message to everyone who listens to a sharded channel.",
			"O(N) where N is the number of listeners", commands.Channel("shardchannel"), commands.Str("message")),
		pubsubRow(),
	}
	for i := range rows {
		rows[i].Channels = channelsOf[rows[i].Name]
	}
	return rows
}

// channelsOf are the words of the commands that listen to channels, or send to one.
var channelsOf = map[string]commands.Channels{
	"subscribe": {First: 1, Many: true}, "ssubscribe": {First: 1, Many: true}, "psubscribe": {First: 1, Many: true, Pattern: true},
	"publish": {First: 1}, "spublish": {First: 1},
}

// pubsubRow is PUBSUB, which tells who listens to what.
func pubsubRow() commands.Row {
	ask := commands.UsesPubSub | commands.Loading | commands.Stale
	row := func(name, since string, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.PubSub, Since: since, Flags: ask, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	all, each := "O(N) where N is the number of channels", "O(N) where N is the number of channels given"
	return commands.Row{Name: "pubsub", Group: commands.PubSub, Since: "2.8.0", HelpSince: "6.2.0",
		Summary: "Commands that tell who listens to what.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("channels", "2.8.0", listChannels(pubsub.Channel), "Lists the channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("numpat", "2.8.0", numPat, "Counts the patterns that anyone listens to.", "O(1)"),
			row("numsub", "2.8.0", countListeners(pubsub.Channel), "Counts the listeners of channels, without those by pattern.", each,
				commands.Opt(commands.Str("channel").Many())),
			row("shardchannels", "7.0.0", listChannels(pubsub.Shard), "Lists the sharded channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("shardnumsub", "7.0.0", countListeners(pubsub.Shard), "Counts the listeners of sharded channels.", each,
				commands.Opt(commands.Str("shardchannel").Many())),
		}}
}

func subscribeCmd(kind pubsub.Kind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		s := sessionOf(c)
		if kind == pubsub.Shard && !c.MayBlock { // Redis allows only the others in a transaction
			return commands.ErrSSubscribeDenied
		}
		for _, name := range c.Args().Rest() {
			s.subscribe(kind, name)
			s.confirm(c, kind, word, name)
		}
		return nil
	}
}

func unsubscribeCmd(kind pubsub.Kind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		s := sessionOf(c)
		if names := c.Args().Rest(); len(names) > 0 {
			for _, name := range names {
				s.unsubscribe(kind, name)
				s.confirm(c, kind, word, name)
			}
			return nil
		}
		replied := false
		for s.subs != nil {
			first, ok := s.subs.First(kind)
			if !ok {
				break
			}
			name := []byte(first)
			s.unsubscribe(kind, name)
			s.confirm(c, kind, word, name)
			replied = true
		}
		if !replied {
			s.confirm(c, kind, word, nil)
		}
		return nil
	}
}

// confirm confirms to a client that it has subscribed or unsubscribed, with the number of its subscriptions.
// name is nil if there was nothing. The client gets that even if it has switched replies off, as in Redis.
func (s *session) confirm(c *commands.Ctx, kind pubsub.Kind, word string, name []byte) {
	w := c.Out
	mute := s.replies.isMuted()
	if mute {
		w = &resp.Writer{Proto: c.Out.Proto}
	}
	n := 0
	switch {
	case s.subs == nil:
	case kind == pubsub.Shard:
		n = s.subs.Len(pubsub.Shard)
	default:
		n = s.subs.Count()
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
		s.confirmed = append(s.confirmed, w.Buf...)
	}
}

func publishCmd(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	c.Out.Int(c.Host.Publish(channel, a.Bytes()))
	return nil
}

func spublishCmd(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	message, ex := a.Bytes(), sessionOf(c).executor
	ex.handOnMessage(replication.ShardChannel, channel, message)
	c.Out.Int(ex.publishSharded(channel, message))
	return nil
}

func listChannels(kind pubsub.Kind) func(*commands.Ctx) error {
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
		for name := range sessionOf(c).executor.pubsub.Names(kind) {
			if pattern == nil || glob.Match(pattern, []byte(name), false) {
				c.Out.BulkString(name)
				n++
			}
		}
		c.Out.SetArray(list, n)
		return nil
	}
}

func countListeners(kind pubsub.Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		names := c.Args().Rest()
		all := &sessionOf(c).executor.pubsub
		c.Out.Array(2 * len(names))
		for _, name := range names {
			c.Out.Bulk(name)
			n := 0
			if to := all.Audience(kind, name); to != nil {
				n = len(to.Members)
			}
			c.Out.Int(int64(n))
		}
		return nil
	}
}

func numPat(c *commands.Ctx) error {
	c.Out.Int(int64(sessionOf(c).executor.pubsub.Len(pubsub.Pattern)))
	return nil
}
