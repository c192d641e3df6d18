package raft

import (
	"fmt"

	"lockserver/commands"
)

// Asked is the server that runs RAFT.
type Asked interface {
	// Member is its part in a group; nil: it is in none.
	Member() *Member
	// Later answers the client when work is done, which runs without the lock.
	Later(c *commands.Ctx, work func() (Reply, error)) error
}

// Reply writes what a client is answered. Under the host's lock.
type Reply func(c *commands.Ctx)

// ok is the reply to what was done.
func ok(c *commands.Ctx) { c.Out.OK() }

// Of finds the server that runs a command.
type Of func(c *commands.Ctx) Asked

// ErrNoGroup is the answer of a server that is in no group.
const ErrNoGroup commands.Error = "ERR this server is not a member of a raft group (raft-id)"

// errNotHere is returned for what only the leader can do.
func (m *Member) errNotHere() error {
	if s := m.Status(); s.Leader.ID != "" {
		return commands.Error(fmt.Sprintf("ERR this member does not lead: %s does, at %s", s.Leader.ID, s.Leader.Client))
	}
	return commands.Error("ERR this member does not lead, and the group has no leader")
}

// knows reports whether there is a member with an id.
func (m *Member) knows(id string) bool {
	for _, p := range m.Status().Peers {
		if p.ID == id {
			return true
		}
	}
	return false
}

// asReply turns an error of the engine into an error reply.
func asReply(err error) error {
	if err == nil {
		return nil
	}
	return commands.Error("ERR " + err.Error())
}
