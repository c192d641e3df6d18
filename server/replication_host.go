package server

import (
	"context"
	"log/slog"
	"net"
	"strconv"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/persistence"
	"lockserver/server/durability"
	"lockserver/server/replication"
	"lockserver/server/tlsconf"
)

// replicationHost is the executor as replication sees it.
type replicationHost struct{ *executor }

var _ replication.NodeServer = replicationHost{}

// Background implements replication.NodeServer.
func (h replicationHost) Background(f func()) { h.host.background(f) }

// Ending implements replication.NodeServer.
func (h replicationHost) Ending() <-chan struct{} { return h.host.ending() }

// NowMS implements replication.NodeServer.
func (h replicationHost) NowMS() int64 { return h.Store.NowMS() }

// Config implements replication.NodeServer.
func (h replicationHost) Config() *config.Config { return h.config }

// Log implements replication.NodeServer.
func (h replicationHost) Log() *slog.Logger { return h.Logger }

// Records implements replication.NodeServer.
func (h replicationHost) Records(on bool) { h.Durable.RecordHistory(on) }

// Snapshot implements replication.NodeServer.
func (h replicationHost) Snapshot(at replication.Position, keys, functions bool) replication.Snapshot {
	return h.Durable.Copy(persistence.History(at), keys, functions)
}

// Port implements replication.NodeServer.
func (h replicationHost) Port(encrypted bool) int {
	if encrypted && h.config.TLS.Port != 0 {
		return h.config.TLS.Port
	}
	return h.host.port()
}

// Dial implements replication.NodeServer.
func (h replicationHost) Dial(ctx context.Context, host string, port int) (net.Conn, error) {
	h.Mu.Lock()
	c := h.config
	h.Mu.Unlock()
	at := net.JoinHostPort(host, strconv.Itoa(port))
	if !c.Replication.TLS {
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}
	return tlsconf.Dial(ctx, &c.TLS, at)
}

// Slice implements replication.NodeServer.
func (h replicationHost) Slice(f func()) {
	h.LockIdle()
	defer h.Damaging()
	h.Begin()
	f()
	if !h.Memory.Pressure.Evicting && h.mustEvict() { // data from the master needs memory, too (replica-ignore-maxmemory no)
		h.Memory.Pressure.Evicting = true
	}
	touched := h.End()
	h.Mu.Unlock()
	wakeAll(touched, nil)
}

// Apply implements replication.NodeServer.
func (h replicationHost) Apply(db int, argv [][]byte) error {
	if h.Failed != nil {
		return h.Failed
	}
	return h.ofMaster().apply(db, argv)
}

// Empty implements replication.NodeServer.
func (h replicationHost) Empty() bool {
	for db := range h.Store.Len() {
		if h.Store.DB(db).Len() > 0 {
			return false
		}
	}
	return true
}

// HasLog implements replication.NodeServer.
func (h replicationHost) HasLog() bool { return h.Durable.Log() != nil }

// LogEnd implements replication.NodeServer.
func (h replicationHost) LogEnd() int64 {
	log := h.Durable.Log()
	if log == nil {
		return 0
	}
	h.Durable.RecordPlace(persistence.History(h.Replication.Place()))
	return log.End()
}

// LogSynced implements replication.NodeServer.
func (h replicationHost) LogSynced(position int64) bool { return h.Durable.Log().Synced(position) }

// Replace implements replication.NodeServer.
func (h replicationHost) Replace(in replication.Replacement) (db int, err error) {
	h.Slice(func() {
		var got persistence.Loaded
		got, err = h.Durable.Receive(durability.Incoming(in))
		db = got.History.DB
		h.Begin()   // time has passed
		h.EndUnit() // waiters may have their turn
	})
	return db, err
}

// HoldWrites implements replication.NodeServer.
func (h replicationHost) HoldWrites(on bool) { h.holdWrites(on) }

// Followed implements replication.NodeServer.
func (h replicationHost) Followed(follows bool) {
	if follows {
		again := h.Follows
		if h.demoted(); again { // another master: as in Redis that ends reading clients' waits, too
			h.unblockAll()
		}
	} else {
		h.promoted()
	}
}

// replicationOf returns the server's part of replication, and the client that asks.
func replicationOf(c *commands.Ctx) (*replication.Node, replication.Client) {
	s := sessionOf(c)
	return &s.executor.Replication, replicaClient{s}
}

// replicaClient is a session as replication sees it: a possible replica, and its connection.
type replicaClient struct{ session *session }

var (
	_ replication.Client = replicaClient{}
	_ replication.Peer   = replicaClient{}
)

// Replica implements replication.Client.
func (c replicaClient) Replica() *replication.Replica { return c.session.link.replica }

// BecomeReplica implements replication.Client.
func (c replicaClient) BecomeReplica(r *replication.Replica) { c.session.link.replica = r }

// Peer implements replication.Client.
func (c replicaClient) Peer() replication.Peer { return c }

// Describe implements replication.Client.
func (c replicaClient) Describe() string { return c.session.line() }

// Follows implements replication.Peer.
func (c replicaClient) Follows() {
	c.session.class = classReplica
	c.session.link.follower.Store(c.session.link.replica)
}

// Wake implements replication.Peer.
func (c replicaClient) Wake() { c.session.output.Conn.Wake(nil) }

// WakeAtEnd implements replication.Peer.
func (c replicaClient) WakeAtEnd() { c.session.output.Conn.WakeAtEnd(c.session.executor.Round) }

// End implements replication.Peer.
func (c replicaClient) End() { c.session.executor.terminate(c.session) }

// EndForOutput implements replication.Peer.
func (c replicaClient) EndForOutput() {
	if !c.session.Terminated {
		c.session.executor.counts.largeOutputs++
	}
	c.End()
}

// RemoteIP implements replication.Peer.
func (c replicaClient) RemoteIP() string {
	host, _, err := net.SplitHostPort(c.session.Info.Addr)
	if err != nil {
		return c.session.Info.Addr
	}
	return host
}

// Waits implements replication.Peer. Output that the connection has may have been read already.
func (c replicaClient) Waits() bool { return len(c.session.Out.Buf)+c.session.inbox.Bytes() > 0 }
