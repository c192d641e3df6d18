package topology

import (
	"strconv"

	"lockserver/commands"
	"lockserver/internal/decimal"
)

// Errors of Redis, from a member that is not the one to ask.
const (
	// ErrSelect answers a SELECT of another database than the first.
	ErrSelect commands.Error = "ERR SELECT is not allowed in cluster mode"

	errDown       Redirection    = "CLUSTERDOWN The cluster is down"
	errScriptDown commands.Error = "ERR Script attempted to execute a command while the cluster is down"
	errScriptKey  commands.Error = "ERR Script attempted to access a non local key in a cluster node"
)

// Redirection is an error that tells a client of a cluster to ask another member, or later. Unlike others it
// reaches the client of an EXEC as it is.
type Redirection string

func (r Redirection) Error() string { return string(r) }

// Call is a command that has come to a member. The zero value touches nothing.
type Call struct {
	Key     []byte // its first key, or sharded channel
	Keyed   bool   // it has one
	Channel bool   // which is a channel
	Write   bool
	Reads   bool // it looks at data, with keys or without
	Stale   bool // it may run without a leader
	Message bool // it sends a message to the channel Key
}

// Redirect says why a command that has come to a member which does not lead is not run there; nil: it is.
func (g *Group) Redirect(p *Place, call *Call) error {
	now := g.seen.Load()
	if call.Message && !g.options.ReplicasServe { // subscribers get what the leader sends
		call = &Call{Key: call.Key, Keyed: true, Write: true}
	}
	if g.options.Form == Sentinel {
		return g.refuse(now, call)
	}
	serves := g.options.ReplicasServe && (p.ReadOnly || call.Channel || !call.Keyed)
	switch {
	case !call.Keyed && call.Write:
		return commands.ErrReadOnly
	case !call.Keyed && (!call.Reads || serves):
		return nil
	case now.leader == nil:
		return errDown
	case serves && !call.Write:
		return nil
	}
	slot := 0
	if call.Keyed {
		slot = Slot(call.Key)
	}
	return moved(slot, now.leader)
}

// refuse is Redirect behind Sentinels: no error says where the leader is.
func (g *Group) refuse(now *sight, call *Call) error {
	switch {
	case now.leader == nil && !call.Stale:
		return commands.ErrMasterDown
	case call.Write, call.Reads && !g.options.ReplicasServe:
		return commands.ErrReadOnly
	}
	return nil
}

func moved(slot int, to *Member) error {
	return Redirection("MOVED " + strconv.Itoa(slot) + " " + to.Host + ":" + strconv.Itoa(to.Port))
}

// RedirectWaiter returns the error for a waiter for a key at a member that leads no more.
func (g *Group) RedirectWaiter(key []byte) error {
	now := g.seen.Load()
	switch {
	case g.options.Form == Sentinel:
		return commands.ErrDemoted
	case now.leader == nil:
		return errDown
	}
	return moved(Slot(key), now.leader)
}

// InScript returns the error that a script gets instead of an error of Redirect.
func InScript(err error) error {
	switch err {
	case nil, commands.ErrReadOnly, commands.ErrMasterDown:
		return err
	case errDown:
		return errScriptDown
	}
	return errScriptKey
}

// RefusesDatabase says what speaks against a command that names databases, in a cluster, which has one. The
// arguments at these places name them: see Databases.Named of the command's row.
func (g *Group) RefusesDatabase(command string, argv [][]byte, named []int) error {
	switch command {
	case "select": // which has more to say before: see ErrSelect
		return nil
	case "move":
		return commands.Error("ERR MOVE is not allowed in cluster mode")
	case "swapdb":
		return commands.Error("ERR SWAPDB is not allowed in cluster mode")
	}
	for _, at := range named {
		if id, ok := decimal.ParseInt(argv[at]); ok && id != 0 {
			return commands.ErrDBIndex
		}
	}
	return nil
}
