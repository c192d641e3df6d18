package pubsub

import (
	"lockserver/commands"
	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

// Caller is the client that runs a command of this package.
type Caller[S any] interface {
	// Registry returns the server's registry. Subscribed returns the client's subscriptions, or nil.
	Registry() *Registry[S]
	Subscribed() *Subscriptions[S]
	// Subscribe subscribes the client to a name. Unsubscribe ends the subscription. Both do nothing if that
	// is the state already.
	Subscribe(kind Kind, name []byte)
	Unsubscribe(kind Kind, name []byte)
	// Muted reports whether the client has switched replies off. SendAnyway sends it bytes all the same.
	Muted() bool
	SendAnyway(b []byte)
	// PublishSharded sends a message to all clients that are subscribed with SSUBSCRIBE, here and on servers
	// with the same data. It returns the number of receivers here.
	PublishSharded(channel, message []byte) int64
}

// Rows returns the commands of this package. callerOf finds the client that runs a command.
func Rows[S any](callerOf func(c *commands.Ctx) Caller[S]) []commands.Row {
	h := handlers[S]{callerOf}
	listen := commands.UsesPubSub | commands.WhileSubscribed | commands.NoScript | commands.Loading | commands.Stale
	post := commands.UsesPubSub | commands.Loading | commands.Stale | commands.Fast | commands.MayReplicate
	row := func(name, since string, flags commands.Flags, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.PubSub, Since: since, Flags: flags, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	perChannel := "O(N) where N is the number of channels given"
	perPattern := "O(N) where N is the number of patterns given"
	rows := []commands.Row{
		row("subscribe", "2.0.0", listen, h.subscribe(Channel, "subscribe"), "Listens to channels.", perChannel,
			commands.Str("channel").Many()),
		row("unsubscribe", "2.0.0", listen, h.unsubscribe(Channel, "unsubscribe"), "Stops listening to channels, or to all.",
			perChannel, commands.Opt(commands.Str("channel").Many())),
		row("psubscribe", "2.0.0", listen, h.subscribe(Pattern, "psubscribe"), "Listens to all channels with names that match patterns.",
			perPattern, commands.Pattern("pattern").Many()),
		row("punsubscribe", "2.0.0", listen, h.unsubscribe(Pattern, "punsubscribe"), "Stops listening to patterns, or to all.",
			perPattern, commands.Opt(commands.Pattern("pattern").Many())),
		row("ssubscribe", "7.0.0", listen, h.subscribe(Shard, "ssubscribe"), "Listens to sharded channels.", perChannel,
			commands.Channel("shardchannel").Many()),
		row("sunsubscribe", "7.0.0", listen, h.unsubscribe(Shard, "sunsubscribe"),
			"Stops listening to sharded channels, or to all.", perChannel, commands.Opt(commands.Channel("shardchannel").Many())),
		row("publish", "2.0.0", post, publish, "Sends a message to everyone who listens to a channel.",
			"O(N+M) where N is the number of listeners and M the number of patterns that anyone listens to",
			commands.Str("channel"), commands.Str("message")),
		row("spublish", "7.0.0", post, h.spublish, "Sends a message to everyone who listens to a sharded channel.",
			"O(N) where N is the number of listeners", commands.Channel("shardchannel"), commands.Str("message")),
		h.container(),
	}
	for i := range rows {
		rows[i].Channels = channelsOf[rows[i].Name]
	}
	return rows
}

// handlers holds the commands for one type of client.
type handlers[S any] struct {
	callerOf func(c *commands.Ctx) Caller[S]
}

// channelsOf describes the channel arguments of the commands, by name.
var channelsOf = map[string]commands.Channels{
	"subscribe": {First: 1, Many: true}, "ssubscribe": {First: 1, Many: true}, "psubscribe": {First: 1, Many: true, Pattern: true},
	"publish": {First: 1}, "spublish": {First: 1},
}

// container returns the row of PUBSUB, which lists channels and subscribers.
func (h handlers[S]) container() commands.Row {
	ask := commands.UsesPubSub | commands.Loading | commands.Stale
	row := func(name, since string, run func(*commands.Ctx) error, summary, complexity string, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.PubSub, Since: since, Flags: ask, Run: run, Summary: summary,
			Complexity: complexity, Args: args}
	}
	all, each := "O(N) where N is the number of channels", "O(N) where N is the number of channels given"
	return commands.Row{Name: "pubsub", Group: commands.PubSub, Since: "2.8.0", HelpSince: "6.2.0",
		Summary: "Commands that tell who listens to what.", Complexity: "Depends on the subcommand.",
		Sub: []commands.Row{
			row("channels", "2.8.0", h.channels(Channel), "Lists the channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("numpat", "2.8.0", h.numPat, "Counts the patterns that anyone listens to.", "O(1)"),
			row("numsub", "2.8.0", h.numSub(Channel), "Counts the listeners of channels, without those by pattern.", each,
				commands.Opt(commands.Str("channel").Many())),
			row("shardchannels", "7.0.0", h.channels(Shard), "Lists the sharded channels that anyone listens to.", all,
				commands.Opt(commands.Pattern("pattern"))),
			row("shardnumsub", "7.0.0", h.numSub(Shard), "Counts the listeners of sharded channels.", each,
				commands.Opt(commands.Str("shardchannel").Many())),
		}}
}

func (h handlers[S]) subscribe(kind Kind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		by := h.callerOf(c)
		if kind == Shard && !c.MayBlock { // Redis only allows the other commands in a transaction
			return commands.ErrSSubscribeDenied
		}
		for _, name := range c.Args().Rest() {
			by.Subscribe(kind, name)
			confirm(c, by, kind, word, name)
		}
		return nil
	}
}

func (h handlers[S]) unsubscribe(kind Kind, word string) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		by := h.callerOf(c)
		if names := c.Args().Rest(); len(names) > 0 {
			for _, name := range names {
				by.Unsubscribe(kind, name)
				confirm(c, by, kind, word, name)
			}
			return nil
		}
		replied := false
		for by.Subscribed() != nil {
			first, ok := by.Subscribed().First(kind)
			if !ok {
				break
			}
			name := []byte(first)
			by.Unsubscribe(kind, name)
			confirm(c, by, kind, word, name)
			replied = true
		}
		if !replied {
			confirm(c, by, kind, word, nil)
		}
		return nil
	}
}

// confirm replies that the client has subscribed or unsubscribed, with the number of its subscriptions. name
// is nil if there was no subscription. As in Redis the client gets this reply even if it has switched replies
// off.
func confirm[S any](c *commands.Ctx, by Caller[S], kind Kind, word string, name []byte) {
	w := c.Out
	mute, subs := by.Muted(), by.Subscribed()
	if mute {
		w = &resp.Writer{Proto: c.Out.Proto}
	}
	n := 0
	switch {
	case subs == nil:
	case kind == Shard:
		n = subs.Len(Shard)
	default:
		n = subs.Count()
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
		by.SendAnyway(w.Buf)
	}
}

func publish(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	c.Out.Int(c.Host.Publish(channel, a.Bytes()))
	return nil
}

func (h handlers[S]) spublish(c *commands.Ctx) error {
	a := c.Args()
	channel := a.Bytes()
	c.Out.Int(h.callerOf(c).PublishSharded(channel, a.Bytes()))
	return nil
}

func (h handlers[S]) channels(kind Kind) func(*commands.Ctx) error {
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
		for name := range h.callerOf(c).Registry().Names(kind) {
			if pattern == nil || glob.Match(pattern, []byte(name), false) {
				c.Out.BulkString(name)
				n++
			}
		}
		c.Out.SetArray(list, n)
		return nil
	}
}

func (h handlers[S]) numSub(kind Kind) func(*commands.Ctx) error {
	return func(c *commands.Ctx) error {
		names := c.Args().Rest()
		all := h.callerOf(c).Registry()
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

func (h handlers[S]) numPat(c *commands.Ctx) error {
	c.Out.Int(int64(h.callerOf(c).Registry().Len(Pattern)))
	return nil
}
