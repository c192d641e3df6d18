package raft

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// NewPeer checks the id and the addresses of a member.
func NewPeer(id, raft, client string) (Peer, error) {
	if id == "" || len(id) > mostID || strings.ContainsAny(id, " \t\r\n=/") {
		return Peer{}, fmt.Errorf("'%s' is no id of a member: up to %d characters, but no space, = and /", id, mostID)
	}
	for _, at := range []string{raft, client} {
		host, port, err := net.SplitHostPort(at)
		number, bad := strconv.ParseUint(port, 10, 16)
		if err != nil || bad != nil || host == "" || number == 0 || strings.ContainsAny(at, " \t\r\n/") {
			return Peer{}, fmt.Errorf("'%s' is no address that others reach: host:port", at)
		}
	}
	return Peer{ID: id, Raft: raft, Client: client}, nil
}

// mostID bounds the length of an id.
const mostID = 64

// ParsePeers reads the members of a group. Each is id=raft-address/client-address, and spaces separate
// them.
func ParsePeers(text string) (all []Peer, err error) {
	seen := make(map[string]bool)
	for _, word := range strings.Fields(text) {
		id, at, ok := strings.Cut(word, "=")
		raft, client, ok2 := strings.Cut(at, "/")
		if !ok || !ok2 {
			return nil, fmt.Errorf("'%s' is no member: id=raft-address/client-address", word)
		}
		p, err := NewPeer(id, raft, client)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"id " + id, "address " + raft, "address " + client} {
			if seen[name] {
				return nil, fmt.Errorf("the %s is given twice", name)
			}
			seen[name] = true
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, errors.New("no members are given: id=raft-address/client-address, with spaces between them")
	}
	return all, nil
}

// Find returns the member with an id.
func Find(all []Peer, id string) (Peer, bool) {
	for _, p := range all {
		if p.ID == id {
			return p, true
		}
	}
	return Peer{}, false
}
