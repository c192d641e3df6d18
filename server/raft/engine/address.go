package engine

import (
	"strings"

	hraft "github.com/hashicorp/raft"

	"lockserver/server/raft"
)

// The address of a member in the group's configuration, do not change: where the others reach it, where
// clients do, the incarnation of its disk, and the id of the group, with slashes between them. So all of this
// is in the log and in snapshots, and each member has it of all others. A group that was formed by an older
// version has the first two alone until its leader has given it an id.

// Address is where a member is reached, by other members and by clients.
func Address(p raft.Peer) hraft.ServerAddress { return hraft.ServerAddress(p.Raft + "/" + p.Client) }

// configured is the address of a member as the configuration of a group has it.
func configured(p raft.Peer, group string) hraft.ServerAddress {
	return Address(p) + hraft.ServerAddress("/"+p.Incarnation+"/"+group)
}

// Bare is an address without what only the group's configuration has.
func Bare(at hraft.ServerAddress) hraft.ServerAddress { return Address(peerOf("", at)) }

// peerOf reads an address of the configuration.
func peerOf(id hraft.ServerID, at hraft.ServerAddress) raft.Peer {
	p, _ := parseAddress(at)
	p.ID = string(id)
	return p
}

// parseAddress reads an address of the configuration. The group is empty if the address does not have it.
func parseAddress(at hraft.ServerAddress) (p raft.Peer, group string) {
	parts := strings.Split(string(at), "/")
	for i, to := range []*string{&p.Raft, &p.Client, &p.Incarnation, &group} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	return p, group
}

// groupOf returns the id of a configuration's group; empty: the configuration has no id, or is not certain
// to be committed. The leader of a group without an id gives it to one member after the other, and each of
// these changes is committed before the next one begins.
func groupOf(all []hraft.Server) string {
	known, of := "", 0
	for _, s := range all {
		if _, group := parseAddress(s.Address); group != "" {
			known = group
			of++
		}
	}
	if of < min(2, len(all)) {
		return ""
	}
	return known
}
