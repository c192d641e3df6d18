package topology

import (
	"fmt"
	"strings"

	"lockserver/commands"
	"lockserver/internal/resp"
)

const errNoSuchMaster commands.Error = "ERR No such master with that name"

// The default settings of a Sentinel, as far as clients see them.
const (
	downAfterMS       = 30_000
	failoverTimeoutMS = 180_000
)

// SwitchChannel is the channel on which a Sentinel publishes a change of the master.
const SwitchChannel = "+switch-master"

// SwitchMessage returns the message about a change; ok is false if the change is not published.
func (g *Group) SwitchMessage(c Change) (message string, ok bool) {
	if !g.IsSentinel() || c.To == nil || c.Last == nil || c.Last.ID == c.To.ID {
		return "", false
	}
	return fmt.Sprintf("%s %s %d %s %d", g.options.Name, c.Last.Host, c.Last.Port, c.To.Host, c.To.Port), true
}

// SentinelRows returns the commands of a Sentinel, for servers that clients find through Sentinels.
func SentinelRows(of Of) []commands.Row {
	row := func(name, since, summary string, run handler, args ...commands.Arg) commands.Row {
		return commands.Row{Name: name, Group: commands.Sentinel, Since: since, Flags: commands.Admin | commands.Loading | commands.Stale,
			Summary: summary, Complexity: "O(1)", Args: args, Run: func(c *commands.Ctx) error {
				g, p := of(c)
				return run(g, p, c)
			}}
	}
	named := func(name, since, summary string, run func(g *Group, p *Connection, now *sight, c *commands.Ctx) error) commands.Row {
		return row(name, since, summary, func(g *Group, p *Connection, c *commands.Ctx) error {
			now := g.seen.Load()
			if !g.knows(now, c.Argv[2]) {
				return errNoSuchMaster
			}
			return run(g, p, now, c)
		}, commands.Str("master-name"))
	}
	slaves := named("slaves", "2.8.0", "Lists the replicas of a master.", sentinelReplicas)
	slaves.Deprecated, slaves.ReplacedBy = "5.0.0", "`SENTINEL REPLICAS`"
	return []commands.Row{{Name: "sentinel", Group: commands.Sentinel, Since: "2.8.4", HelpSince: "6.2.0",
		Summary: "Commands that tell where the master is.", Complexity: "Depends on the subcommand.", Sub: []commands.Row{
			row("get-master-addr-by-name", "2.8.4", "Tells where the master of that name is.", masterAddr, commands.Str("master-name")),
			row("masters", "2.8.4", "Lists the masters.", masters),
			named("master", "2.8.4", "Tells the state of a master.", master),
			named("replicas", "5.0.0", "Lists the replicas of a master.", sentinelReplicas), slaves,
			named("sentinels", "2.8.4", "Lists the other Sentinels of a master.", sentinels),
			named("ckquorum", "2.8.4", "Tells whether a new master could be agreed on.", checkQuorum),
			row("myid", "6.2.0", "Tells the id of this Sentinel.", myID),
		}}}
}

// knows reports whether the name is that of the present or former master.
func (g *Group) knows(now *sight, name []byte) bool {
	return now.last != nil && string(name) == g.options.Name
}

func masterAddr(g *Group, _ *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	if !g.knows(now, c.Argv[2]) {
		c.Out.NullArray()
		return nil
	}
	c.Out.Array(2)
	c.Out.BulkString(now.last.Host)
	c.Out.BulkInt(int64(now.last.Port))
	return nil
}

func masters(g *Group, p *Connection, c *commands.Ctx) error {
	now := g.seen.Load()
	if now.last == nil {
		c.Out.Array(0)
		return nil
	}
	c.Out.Array(1)
	return master(g, p, now, c)
}

func master(g *Group, _ *Connection, now *sight, c *commands.Ctx) error {
	e := entry{c: c, now: now, m: now.last}
	flags := "master"
	if now.failed(e.m) {
		flags = "s_down,o_down,master"
	}
	e.begin(g.options.Name, flags)
	e.server("master")
	e.number("config-epoch", now.Term)
	e.number("num-slaves", int64(len(now.Members)-1))
	e.number("num-other-sentinels", int64(len(now.Members)-1))
	e.number("quorum", int64(now.quorum()))
	e.number("failover-timeout", failoverTimeoutMS)
	e.number("parallel-syncs", 1)
	e.end()
	return nil
}

// quorum returns the number of members that are a majority.
func (s *sight) quorum() int { return len(s.Members)/2 + 1 }

func sentinelReplicas(g *Group, _ *Connection, now *sight, c *commands.Ctx) error {
	replicas := now.replicas(false)
	c.Out.Array(len(replicas))
	host, port := now.master()
	for _, m := range replicas {
		e := entry{c: c, now: now, m: m}
		flags, link := "slave", "ok"
		if !m.Up {
			flags = "s_down,slave,disconnected"
		}
		if now.leader == nil || !m.Up || !g.options.ReplicasServe { // clients that look for a replica to read from use this
			link = "err"
		}
		e.begin(m.Addr(), flags)
		e.server("slave")
		e.number("master-link-down-time", 0)
		e.text("master-link-status", link)
		e.text("master-host", host)
		e.number("master-port", int64(port))
		e.number("slave-priority", 100)
		e.number("slave-repl-offset", m.Offset)
		e.number("replica-announced", 1)
		e.end()
	}
	return nil
}

func sentinels(_ *Group, p *Connection, now *sight, c *commands.Ctx) error {
	array, count := c.Out.DeferArray(), 0
	for i := range now.Members {
		m := &now.Members[i]
		if m.ID == p.Self {
			continue
		}
		e := entry{c: c, now: now, m: m}
		flags := "sentinel"
		if !m.Up {
			flags = "s_down,sentinel,disconnected"
		}
		e.begin(m.ID, flags)
		e.number("last-hello-message", e.silentMS())
		e.text("voted-leader", "?")
		e.number("voted-leader-epoch", 0)
		e.end()
		count++
	}
	c.Out.SetArray(array, count)
	return nil
}

func checkQuorum(_ *Group, _ *Connection, now *sight, c *commands.Ctx) error {
	usable := 0
	for i := range now.Members {
		if now.Members[i].Up {
			usable++
		}
	}
	if usable < now.quorum() {
		return commands.Error(fmt.Sprintf("NOQUORUM %d usable Sentinels. Not enough available Sentinels to reach the specified quorum for "+
			"this master. Not enough available Sentinels to reach the majority and authorize a failover", usable))
	}
	c.Out.Simple(fmt.Sprintf("OK %d usable Sentinels. Quorum and failover authorization can be reached", usable))
	return nil
}

// entry writes the fields of a server in a Sentinel's reply.
type entry struct {
	c      *commands.Ctx
	now    *sight
	m      *Member
	header resp.Deferred
	fields int
}

func (e *entry) text(name, value string) {
	e.c.Out.BulkString(name)
	e.c.Out.BulkString(value)
	e.fields++
}

func (e *entry) number(name string, value int64) {
	e.c.Out.BulkString(name)
	e.c.Out.BulkInt(value)
	e.fields++
}

// silentMS returns the time since the last sign of life from the server.
func (e *entry) silentMS() int64 {
	if e.m.Up {
		return 0
	}
	return e.sinceMS()
}

// sinceMS returns for how long the server has been up, or down.
func (e *entry) sinceMS() int64 { return max(e.c.DB.Store().NowMS()-e.now.sinceMS[e.m.ID], 0) }

// begin writes the fields of every server.
func (e *entry) begin(name, flags string) {
	e.header = e.c.Out.DeferMap()
	e.text("name", name)
	e.text("ip", e.m.Host)
	e.number("port", int64(e.m.Port))
	e.text("runid", e.m.ID)
	e.text("flags", flags)
	e.number("link-pending-commands", 0)
	e.number("link-refcount", 1)
	e.number("last-ping-sent", e.silentMS())
	e.number("last-ok-ping-reply", e.silentMS())
	e.number("last-ping-reply", e.silentMS())
	if strings.Contains(flags, "s_down") {
		e.number("s-down-time", e.sinceMS())
	}
	if strings.Contains(flags, "o_down") {
		e.number("o-down-time", e.sinceMS())
	}
	e.number("down-after-milliseconds", downAfterMS)
}

// server writes the fields of masters and replicas.
func (e *entry) server(role string) {
	e.number("info-refresh", 0)
	e.text("role-reported", role)
	e.number("role-reported-time", e.sinceMS())
}

func (e *entry) end() { e.c.Out.SetMap(e.header, e.fields) }
