package topology

import (
	"strconv"

	"lockserver/commands"
	"lockserver/internal/decimal"
)

// Errors of Redis, from a member that must not be asked.
const (
	// ErrSelect is the reply to SELECT of another database than 0.
	ErrSelect commands.Error = "ERR SELECT is not allowed in cluster mode"

	errDown       Redirection    = "CLUSTERDOWN The cluster is down"
	errScriptDown commands.Error = "ERR Script attempted to execute a command while the cluster is down"
	errScriptKey  commands.Error = "ERR Script attempted to access a non local key in a cluster node"
)

// Redirection is an error that tells a client of a cluster to ask another member, or to ask later. Unlike
// other errors it reaches the client of an EXEC unchanged.
type Redirection string

func (r Redirection) Error() string { return string(r) }

// Call describes a command for a member. The zero value uses no key.
type Call struct {
	Key     []byte // its first key, or sharded channel
	Keyed   bool   // it has one
	Channel bool   // the key is a channel
	Write   bool
	Reads   bool // it reads data, with or without keys
	Stale   bool // it may run without a leader
	Message bool // it sends a message to the channel Key
}

// Redirect returns the error for a command at a member that does not lead, or nil if the command may run.
func (g *Group) Redirect(p *Place, call *Call) error {
	now := g.seen.Load()
	if call.Message && !g.options.ReplicasServe { // subscribers only get messages from the leader
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

// refuse does what Redirect does, for clients with Sentinel: no error names the leader.
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

// RedirectWaiter returns the error for a waiter for a key at a member that does not lead any more.
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

// RefusesDatabase returns an error for a command that names another database than 0, in a cluster. named
// lists the positions of the arguments that name databases: see Databases.Named of the command's row.
func (g *Group) RefusesDatabase(command string, argv [][]byte, named []int) error {
	switch command {
	case "select": // which has other errors before: see ErrSelect
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
