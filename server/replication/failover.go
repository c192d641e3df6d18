package replication

import (
	"fmt"

	"lockserver/commands"
	"lockserver/internal/ascii"
)

// FAILOVER: the server and one of its replicas change places. Writes are held until the replica has all data;
// then the server follows it, and asks it to lead.

// failoverState is a state of a failover.
type failoverState uint8

const (
	noFailover       failoverState = iota
	awaitingSync                   // until a replica has all data
	failoverOnItsWay               // until the replica has answered
)

// String returns the state's name in INFO.
func (s failoverState) String() string {
	return [...]string{"no-failover", "waiting-for-sync", "failover-in-progress"}[s]
}

// failover holds the parameters of a running failover.
type failover struct {
	state failoverState
	host  string // of the replica that is going to lead; empty: any replica
	port  int
	force bool  // at the deadline the replica leads with the data that it has
	endMS int64 // the deadline; 0: none
}

// Errors of Redis.
const (
	errNoFailover        commands.Error = "ERR No failover in progress."
	errFailoverTimeout   commands.Error = "ERR FAILOVER timeout must be greater than 0"
	errFailoverUnderway  commands.Error = "ERR FAILOVER already in progress."
	errFailoverReplica   commands.Error = "ERR FAILOVER is not valid when server is a replica."
	errFailoverAlone     commands.Error = "ERR FAILOVER requires connected replicas."
	errFailoverForce     commands.Error = "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
	errFailoverTarget    commands.Error = "ERR FAILOVER target HOST and PORT is not a replica."
	errFailoverOffline   commands.Error = "ERR FAILOVER target replica is not online."
	errReplicaOfFailover commands.Error = "ERR REPLICAOF not allowed while failing over."
	errSyncFailover      commands.Error = "ERR -NOMASTERLINK Can't SYNC while failing over"
)

func failoverRow(run func(*commands.Ctx) error) commands.Row {
	return commands.Row{Name: "failover", Group: commands.Server, Since: "6.2.0", Flags: commands.Admin | commands.NoScript | commands.Stale,
		Summary: "Changes places with a replica, without losing anything.", Complexity: "O(1)", Run: run,
		Args: []commands.Arg{
			commands.Opt(commands.Block("target", commands.Str("host"), commands.Int("port"), commands.Opt(commands.Flag("FORCE"))).After("TO")),
			commands.Opt(commands.Flag("ABORT")), commands.Opt(commands.Int("milliseconds").After("TIMEOUT"))}}
}

func failoverCmd(n *Node, _ Client, c *commands.Ctx) error {
	if len(c.Argv) == 2 && ascii.EqualFold(c.Argv[1], "abort") {
		if n.failover.state == noFailover {
			return errNoFailover
		}
		n.abortFailover("Failover manually aborted")
		c.Out.OK()
		return nil
	}
	next, err := readFailover(c)
	if err != nil {
		return err
	}
	switch {
	case n.failover.state != noFailover:
		return errFailoverUnderway
	case n.link != nil:
		return errFailoverReplica
	case len(n.replicas) == 0:
		return errFailoverAlone
	case next.force && (next.endMS == 0 || next.host == ""):
		return errFailoverForce
	}
	if next.host == "" {
		n.host.Log().Info("FAILOVER requested to any replica.")
	} else {
		switch r := n.find(next.host, next.port); {
		case r == nil:
			return errFailoverTarget
		case r.state != online:
			return errFailoverOffline
		}
		n.host.Log().Info(fmt.Sprintf("FAILOVER requested to %s:%d.", next.host, next.port))
	}
	n.failover = next
	n.failover.state = awaitingSync
	n.host.HoldWrites(true)
	n.tryFailover()
	c.Out.OK()
	return nil
}

// readFailover reads the options of FAILOVER; each may be given once.
func readFailover(c *commands.Ctx) (f failover, err error) {
	a := c.Args()
	for a.More() {
		switch {
		case f.endMS == 0 && a.Left() > 1 && a.IsNext("TIMEOUT"):
			ms := a.Int()
			if a.Err() == nil && ms <= 0 {
				return f, errFailoverTimeout
			}
			f.endMS = c.NowMS() + ms
		case f.host == "" && a.Left() > 2 && a.IsNext("TO"):
			f.host = string(a.Bytes())
			f.port = int(a.Int())
		case !f.force && a.IsNext("FORCE"):
			f.force = true
		default:
			return f, commands.ErrSyntax
		}
		if a.Err() != nil {
			return f, a.Err()
		}
	}
	return f, nil
}

// find returns the replica at an address, or nil.
func (n *Node) find(host string, port int) *Replica {
	for _, r := range n.replicas {
		if r.ip() == host && r.port == port {
			return r
		}
	}
	return nil
}

// tryFailover continues a failover if the replica has all data, or the deadline has passed.
func (n *Node) tryFailover() {
	f := &n.failover
	if f.state != awaitingSync {
		return
	}
	if f.endMS != 0 && f.endMS <= n.host.NowMS() {
		if !f.force {
			n.abortFailover("Replica never caught up before timeout")
			return
		}
		n.host.Log().Info(fmt.Sprintf("FAILOVER to %s:%d time out exceeded, failing over.", f.host, f.port))
		n.handOver()
		return
	}
	for _, r := range n.replicas {
		if r.state == online && r.acked == n.Offset() && (f.host == "" || r == n.find(f.host, f.port)) {
			f.host, f.port = r.ip(), r.port
			n.host.Log().Info(fmt.Sprintf("Failover target %s:%d is synced, failing over.", f.host, f.port))
			n.handOver()
			return
		}
	}
}

// handOver follows the replica that is going to lead. The link will ask it to lead.
func (n *Node) handOver() {
	n.failover.state = failoverOnItsWay
	n.SetMaster(n.failover.host, n.failover.port)
	n.link.failover = true
}

// answeredFailover handles the answer of the replica.
func (n *Node) answeredFailover(leads bool) {
	if n.failover.state != failoverOnItsWay {
		return
	}
	if !leads {
		n.abortFailover("Failover target rejected psync request")
		return
	}
	n.endFailover()
}

// abortFailover restores the role of the server.
func (n *Node) abortFailover(why string) {
	n.host.Log().Info(fmt.Sprintf("Aborting failover to %s:%d (%s).", n.failover.host, n.failover.port, why))
	if n.failover.state == failoverOnItsWay {
		n.SetMaster("", 0)
	}
	n.endFailover()
}

func (n *Node) endFailover() {
	n.failover = failover{}
	n.host.HoldWrites(false)
}

// SetMaster makes the server follow another server, or, with an empty host, no server. It changes the
// configuration, too.
func (n *Node) SetMaster(host string, port int) {
	c := n.config()
	c.MasterHost, c.MasterPort = host, port
	if host == "" {
		n.Lead()
	} else {
		n.Follow(host, port)
	}
}
