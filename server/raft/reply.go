package raft

import (
	"fmt"

	"lockserver/commands"
)

// Asked is the server that runs RAFT.
type Asked interface {
	// Member returns the server's part in a group; nil: it is in no group.
	Member() *Member
	// Later answers the client when work has returned. work runs without the lock.
	Later(c *commands.Ctx, work func() (Reply, error)) error
}

// Reply writes the reply to a client. Under the host's lock.
type Reply func(c *commands.Ctx)

// ok writes the reply of a command that has succeeded.
func ok(c *commands.Ctx) { c.Out.OK() }

// Of returns the server that runs a command.
type Of func(c *commands.Ctx) Asked

// ErrNoGroup is the reply of a server that is in no group.
const ErrNoGroup commands.Error = "ERR this server is not a member of a raft group (raft-id)"

// errNotHere returns the error of a command that only the leader can run.
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
