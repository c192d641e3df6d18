package replication

import (
	"fmt"
	"strings"

	"lockserver/commands"
	"lockserver/internal/ascii"
	"lockserver/internal/decimal"
)

// Of finds the node of the server that runs a command, and the client that sent it.
type Of func(c *commands.Ctx) (*Node, Client)

// Rows returns the commands about masters and replicas.
func Rows(of Of) []commands.Row {
	const admin = commands.Admin | commands.NoScript
	with := func(run func(n *Node, client Client, c *commands.Ctx) error) func(*commands.Ctx) error {
		return func(c *commands.Ctx) error {
			n, client := of(c)
			return run(n, client, c)
		}
	}
	follow := func(name, since string) commands.Row {
		return commands.Row{Name: name, Group: commands.Server, Since: since, Flags: admin | commands.Stale | commands.NoAsyncLoading,
			Summary: "Makes the server a replica of another, or a master.", Complexity: "O(1)", Run: with(replicaOf),
			Args: []commands.Arg{commands.OneOf("args",
				commands.Block("host-port", commands.Str("host"), commands.Int("port")),
				commands.Block("no-one", commands.Flag("NO"), commands.Flag("ONE")))}}
	}
	slaveOf := follow("slaveof", "1.0.0")
	slaveOf.Deprecated, slaveOf.ReplacedBy = "5.0.0", "`REPLICAOF`"
	return []commands.Row{
		{Name: "role", Group: commands.Server, Since: "2.8.12", Flags: commands.NoScript | commands.Loading | commands.Stale | commands.Fast,
			Cats: commands.CatAdmin | commands.CatDangerous, Run: with(role),
			Summary: "Shows whether the server is a master or a replica, and its master.", Complexity: "O(1)"},
		follow("replicaof", "5.0.0"), slaveOf, failoverRow(with(failoverCmd)),
		{Name: "psync", Group: commands.Server, Since: "2.8.0", Flags: admin | commands.NoAsyncLoading | commands.NoMulti, Run: with(psync),
			Summary: "Asks for the data and all that becomes of it: for replicas.",
			Args:    []commands.Arg{commands.Str("replicationid"), commands.Int("offset")}, MinArgs: 3},
		{Name: "sync", Group: commands.Server, Since: "1.0.0", Flags: admin | commands.NoAsyncLoading | commands.NoMulti, Run: with(syncCmd),
			Summary: "Asks for the data and all that becomes of it: for replicas of long ago."},
		{Name: "replconf", Group: commands.Server, Since: "3.0.0", Flags: admin | commands.Loading | commands.Stale | commands.AllowBusy,
			Run: with(replconf), Summary: "Tells of a replica what it is, and how far.", Complexity: "O(1)", SysCmd: true, MinArgs: 1},
	}
}

// Errors of Redis.
const (
	errIsReplica    commands.Error = "ERR Command is not valid when client is a replica."
	errNoMasterLink commands.Error = "ERR -NOMASTERLINK Can't SYNC while not connected with my master"
	errPending      commands.Error = "ERR SYNC and PSYNC are invalid with pending output"
	errNeedsEOF     commands.Error = "ERR Filtered replica requires EOF capability"
	errFailoverHere commands.Error = "ERR PSYNC FAILOVER can't be sent to a master."
	errFailoverID   commands.Error = "ERR PSYNC FAILOVER replid must match my replid."
)

// role replies with the role of the server.
func role(n *Node, _ Client, c *commands.Ctx) error {
	if l := n.link; l != nil {
		c.Out.Array(5)
		c.Out.BulkString("slave")
		c.Out.BulkString(l.host)
		c.Out.Int(int64(l.port))
		c.Out.BulkString(l.state.String())
		at := int64(-1)
		if l.state == connected {
			at = n.Offset()
		}
		c.Out.Int(at)
		return nil
	}
	c.Out.Array(3)
	c.Out.BulkString("master")
	c.Out.Int(n.Offset())
	count := 0
	for _, r := range n.replicas {
		if r.state == online {
			count++
		}
	}
	c.Out.Array(count)
	for _, r := range n.replicas {
		if r.state == online {
			c.Out.Array(3)
			c.Out.BulkString(r.ip())
			c.Out.BulkInt(int64(r.port))
			c.Out.BulkInt(r.acked)
		}
	}
	return nil
}

func replicaOf(n *Node, client Client, c *commands.Ctx) error {
	host, port := c.Argv[1], c.Argv[2]
	if n.failover.state != noFailover {
		return errReplicaOfFailover
	}
	if ascii.EqualFold(host, "no") && ascii.EqualFold(port, "one") {
		if n.link != nil {
			n.SetMaster("", 0)
			n.host.Log().Info("MASTER MODE enabled (user request from '" + client.Describe() + "')")
		}
		c.Out.OK()
		return nil
	}
	if client.Replica().Is() {
		return errIsReplica
	}
	at, ok := decimal.ParseInt(port)
	if !ok || at < 0 || at > 65535 {
		return commands.ErrMasterPort
	}
	if l := n.link; l != nil && strings.EqualFold(l.host, string(host)) && l.port == int(at) {
		n.host.Log().Info("REPLICAOF would result into synchronization with the master we are already connected with. No operation performed.")
		c.Out.Simple("OK Already connected to specified master")
		return nil
	}
	n.SetMaster(string(host), int(at))
	n.host.Log().Info(fmt.Sprintf("REPLICAOF %s:%d enabled (user request from '%s')", host, at, client.Describe()))
	c.Out.OK()
	return nil
}

// replicaOfClient returns a client's state as a replica. It makes the state if necessary.
func (n *Node) replicaOfClient(client Client) *Replica {
	r := client.Replica()
	if r == nil {
		r = &Replica{node: n, peer: client.Peer(), onDisk: -1}
		client.BecomeReplica(r)
	}
	return r
}

func psync(n *Node, client Client, c *commands.Ctx) error {
	r := client.Replica()
	if r.Is() {
		return nil
	}
	id := string(c.Argv[1])
	if err := n.admitsReplica(client); err != nil {
		return err
	}
	if len(c.Argv) > 3 && ascii.EqualFold(c.Argv[3], "failover") {
		if err := n.leadInstead(id, client); err != nil {
			return err
		}
	}
	if !n.LinkUp() {
		return errNoMasterLink
	}
	offset, ok := decimal.ParseInt(c.Argv[2])
	r = n.replicaOfClient(client)
	n.host.Log().Info("Replica " + r.name() + " asks for synchronization")
	if !ok {
		return commands.ErrNotInteger
	}
	if n.resume(r, id, offset) {
		n.counts.partialOK++
		if r.psync2 {
			c.Out.Simple("CONTINUE " + n.id)
		} else {
			c.Out.Simple("CONTINUE")
		}
		r.wake()
		return nil
	}
	if id == "?" {
		n.host.Log().Info("Full resync requested by replica " + r.name())
	} else {
		n.counts.partialErr++
	}
	n.sync(r)
	return nil
}

// leadInstead makes the server a master because its own master requests it. If it succeeds on this server,
// nothing may refuse it on the other server, which would then also lead. A repeated request, after a lost
// reply, gets the same answer.
func (n *Node) leadInstead(id string, client Client) error {
	n.host.Log().Info("Failover request received for replid " + id + ".")
	switch {
	case n.link == nil && strings.EqualFold(id, n.id2):
		return nil
	case n.link == nil:
		return errFailoverHere
	case !strings.EqualFold(id, n.id):
		return errFailoverID
	}
	n.SetMaster("", 0)
	n.host.Log().Info("MASTER MODE enabled (failover request from '" + client.Describe() + "')")
	return nil
}

func syncCmd(n *Node, client Client, _ *commands.Ctx) error {
	if client.Replica().Is() {
		return nil
	}
	if err := n.admitsReplica(client); err != nil {
		return err
	}
	if !n.LinkUp() {
		return errNoMasterLink
	}
	r := n.replicaOfClient(client)
	r.silent = true
	n.host.Log().Info("Replica " + r.name() + " asks for synchronization")
	n.sync(r)
	return nil
}

// admitsReplica returns the reason why a client must not become a replica, or nil.
func (n *Node) admitsReplica(client Client) error {
	r := client.Replica()
	switch {
	case n.failover.state != noFailover:
		return errSyncFailover
	case client.Peer().Waits():
		return errPending
	case r != nil && (r.noKeys || r.noFunctions) && !r.eof:
		return errNeedsEOF
	case r != nil && r.older() && n.host.Has(RecurringEntries) != 0:
		return errOlderReplica
	}
	return nil
}

func replconf(n *Node, client Client, c *commands.Ctx) error {
	if len(c.Argv)%2 == 0 {
		return commands.ErrSyntax
	}
	for i := 1; i < len(c.Argv); i += 2 {
		name, value := c.Argv[i], c.Argv[i+1]
		if ascii.EqualFold(name, "ack") {
			if r := client.Replica(); r.Is() {
				n.readAck(r, c.Argv[i:])
			}
			return nil
		}
		if ascii.EqualFold(name, "ask") {
			if r := client.Replica(); r.Is() {
				f, _ := decimal.ParseInt(value)
				n.wantAsked(Features(f & int64(allFeatures)))
				return nil
			}
			continue // the client asks whether we know that
		}
		if ascii.EqualFold(name, "getack") {
			return nil // sent by a client, not by our master
		}
		if err := n.replicaOfClient(client).tell(name, value); err != nil {
			return err
		}
	}
	c.Out.OK()
	return nil
}

// readAck reads ACK offset [FACK offset].
func (n *Node) readAck(r *Replica, words [][]byte) {
	offset, ok := decimal.ParseInt(words[1])
	if !ok {
		return
	}
	onDisk := int64(-1)
	if len(words) >= 4 && ascii.EqualFold(words[2], "fack") {
		if onDisk, ok = decimal.ParseInt(words[3]); !ok {
			onDisk = -1
		}
	}
	n.ack(r, offset, onDisk)
}

// mostAddress limits the length of the address that a replica states.
const mostAddress = 255

// tell handles a replica's statement about itself.
func (r *Replica) tell(name, value []byte) error {
	n, isInt := decimal.ParseInt(value)
	switch {
	case ascii.EqualFold(name, "listening-port"):
		if !isInt {
			return commands.ErrNotInteger
		}
		r.port = int(n)
	case ascii.EqualFold(name, "ip-address"):
		if len(value) > mostAddress {
			return commands.Error(fmt.Sprintf("ERR REPLCONF ip-address provided by replica instance is too long: %d bytes", len(value)))
		}
		r.address = string(value)
	case ascii.EqualFold(name, "capa"):
		r.eof = r.eof || ascii.EqualFold(value, "eof")
		r.psync2 = r.psync2 || ascii.EqualFold(value, "psync2")
		if string(value) == ownKind {
			r.own, r.knows = true, allFeatures
		}
		r.rules = r.rules || string(value) == rulesKind
	case ascii.EqualFold(name, "rdb-only"):
		switch {
		case !isInt:
			return commands.ErrNotInteger
		case n < 0 || n > 1:
			return commands.Error("ERR value is out of range, must be between 0 and 1")
		}
		r.snapshot = n == 1
	case ascii.EqualFold(name, "rdb-filter-only"):
		r.noKeys, r.noFunctions = true, true
		for _, word := range strings.Fields(string(value)) {
			if !strings.EqualFold(word, "functions") {
				return commands.Error("ERR Unsupported rdb-filter-only option: " + word)
			}
			r.noFunctions = false
		}
	default:
		return commands.Error(fmt.Sprintf("ERR Unrecognized REPLCONF option: %s", name))
	}
	return nil
}
