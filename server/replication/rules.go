package replication

import (
	"slices"

	"lockserver/commands"
	"lockserver/store"
)

// Delayed entries that recur are ordinary keys, which any server keeps. But an early version of lockserver
// takes such an entry for a damaged one, and drops it when that version leads. So no such replica follows
// data with entries that recur. Redis leads nothing of that kind, and may follow.

// rulesKind is the word by which a replica says that it knows entries that recur (REPLCONF capa).
const rulesKind = "lockserver-rules"

const errOlderReplica commands.Error = "ERR this server has delayed entries that recur, which the replica's version of lockserver does not know: upgrade the replica"

// older reports whether a replica is a lockserver that does not know entries that recur.
func (r *Replica) older() bool { return r.own && !r.rules && !r.snapshot }

// storesRules reports whether effects store delayed entries that recur.
func storesRules(unit Effects) bool {
	return slices.ContainsFunc(unit, func(e store.Effect) bool { return commands.StoresRule(e.Args) })
}

// storesRules reports whether a unit of the master's history stores delayed entries that recur.
func (u *Unit) storesRules() bool {
	return slices.ContainsFunc(u.Commands, func(c Command) bool { return commands.StoresRule(c.Argv) })
}

// closeOlder closes the replicas that do not know entries that recur, because such an entry follows.
func (n *Node) closeOlder() {
	for _, r := range n.replicas {
		if r.older() && !r.refused {
			r.refused = true
			n.host.Log().Warn("closing a replica of an older version, which does not know delayed entries that recur: upgrade it", "replica", r.name())
			r.peer.End()
		}
	}
}
