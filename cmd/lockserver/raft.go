package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockserver/internal/config"
	"lockserver/server"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
	"lockserver/server/tlsconf"
	"lockserver/server/topology"
)

// joinGroup prepares o for a member of a raft group, if the configuration has one. leave releases its
// resources after the server has ended.
func (p *process) joinGroup(o *server.Options) (leave func(), err error) {
	c := &p.config.Raft
	if c.ID == "" {
		if c.Members != "" || c.Listen != "" {
			return nil, errors.New("raft-members and raft-listen need raft-id: which of them this server is")
		}
		return func() {}, refuseMembersData(p.config)
	}
	self, peers, err := whoIs(c, p.config.ClientPort())
	if err != nil {
		return nil, err
	}
	if elsewhere(c.Listen, self.Raft) {
		p.log.Warn("raft: raft-listen is another address than that of this member in raft-members, where the others call it: correct one of the two, unless the second leads to the first",
			"raft-listen", c.Listen, "raft-members", self.Raft)
	}
	dir := filepath.Join(p.config.Dir, "raft")
	if err := refuseOldData(p.config, dir); err != nil {
		return nil, err
	}
	n := &engine.Network{ID: c.ID, Group: c.Group, Listen: c.Listen, Self: engine.Address(self), Log: p.log, Names: strings.Fields(c.TLSNames)}
	ends, err := p.encrypt(n, self.Raft)
	if err != nil {
		return nil, err
	}
	eo := engine.Options{ID: c.ID, Peers: peers, ElectionMS: c.ElectionMS, Log: p.log, Transport: n.Transport,
		Version: version, Hello: n.Hello, Position: n.AskPosition, ReachClient: n.ReachClient, MoveDamaged: true}
	if err := engine.KeepIn(dir, c.Group, &eo); err != nil {
		return nil, err
	}
	n.Identity = eo.Identity
	form := topology.Cluster
	if c.Clients == "sentinel" {
		form = topology.Sentinel
	}
	id := topology.MemberID(p.config.Groups.Cluster, p.config.Groups.Shard, c.ID)
	if p.config.Groups.Cluster != "" {
		o.ShardMapPath = filepath.Join(dir, "shards.json")
	}
	e := engine.New(eo)
	n.Position, n.Addresses = e.Position, e.Addresses
	o.Raft, o.RaftOptions = e, raft.MemberOptions{SnapshotBytes: c.SnapshotBytes, LeaseReads: c.Reads == "lease",
		CheckEvery: time.Duration(c.CheckEveryS) * time.Second, ReadsMaxLag: time.Duration(c.ReadsMaxLagMS) * time.Millisecond, CertificateEnds: ends}
	o.Group = topology.New(topology.GroupOptions{Form: form, Strict: p.config.ClusterEnabled, Self: func(net.Addr) string { return id }})
	return func() {
		if err := e.Release(); err != nil {
			p.log.Error("the raft group's log could not be closed", "cause", err)
		}
	}, nil
}

// whoIs finds this member among the members that form the group. A member that is added later is not among
// them, and gives its own address. port is the port of clients; 0: there is none.
func whoIs(c *config.Raft, port int) (self raft.Peer, peers []raft.Peer, err error) {
	if c.Group == "" || strings.ContainsAny(c.Group, " \t\r\n") {
		return self, nil, fmt.Errorf("raft-group '%s': a name without spaces", c.Group)
	}
	if c.Members == "" {
		if port == 0 {
			return self, nil, errors.New("port and tls-port are 0: a member of a raft group needs a port for clients")
		}
		host, _, _ := net.SplitHostPort(c.Listen)
		if self, err = raft.NewPeer(c.ID, c.Listen, net.JoinHostPort(host, fmt.Sprint(port))); err != nil {
			err = fmt.Errorf("raft-id, raft-listen: %w", err)
		}
		return self, nil, err
	}
	if peers, err = raft.ParsePeers(c.Members); err != nil {
		return self, nil, fmt.Errorf("raft-members: %w", err)
	}
	self, ok := raft.Find(peers, c.ID)
	switch {
	case !ok:
		return self, nil, fmt.Errorf("raft-id '%s' is not in raft-members", c.ID)
	case c.Listen == "":
		return self, nil, fmt.Errorf("raft-listen is missing: the others reach this member at %s", self.Raft)
	}
	for _, p := range peers {
		if p.ID != c.ID && p.Raft == c.Listen {
			return self, nil, fmt.Errorf("raft-id is '%s', and raft-listen %s where raft-members has '%s': an id is one server's", c.ID, c.Listen, p.ID)
		}
	}
	return self, peers, nil
}

// elsewhere reports whether a server that listens at one address is not reached at another address without a
// mapping of ports. It compares only the texts. A name and an address may be the same machine.
func elsewhere(listen, address string) bool {
	at, port, err := net.SplitHostPort(listen)
	host, known, err2 := net.SplitHostPort(address)
	switch {
	case err != nil || err2 != nil:
		return false
	case port != known:
		return true
	}
	a, b := net.ParseIP(at), net.ParseIP(host)
	switch {
	case at == "" || a != nil && a.IsUnspecified():
		return false
	case a != nil && b != nil:
		return !a.Equal(b)
	}
	return a == nil && b == nil && !strings.EqualFold(strings.TrimSuffix(at, "."), strings.TrimSuffix(host, "."))
}

// refuseOldData refuses to form a group in a directory with other data, which the group would not have.
func refuseOldData(c *config.Config, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	for _, name := range []string{c.DBFilename, c.AppendDirname} {
		if name == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(c.Dir, name)); err == nil {
			return fmt.Errorf("%s has %s, which a raft group does not load: move it away, and bring its data in as a client would", c.Dir, name)
		}
	}
	return nil
}

// refuseMembersData refuses to start a server outside a group without data in a directory with a member's
// data.
func refuseMembersData(c *config.Config) error {
	dir := filepath.Join(c.Dir, "raft")
	member, err := engine.MemberOf(dir)
	if err != nil || member == "" || c.TestMode {
		return err
	}
	return fmt.Errorf("%s has the data of a member of a raft group, '%s' (id and group), which a server without raft-id does not load: "+
		"give it its raft-id, or move the directory away", dir, member)
}

// encrypt makes the connections between members encrypted connections, if raft-tls says so. at is the address
// of this member for the others. ends returns when the first certificate for them ends; nil if there is none.
// The error says that raft-tls has to be stated for an address that other machines reach.
func (p *process) encrypt(n *engine.Network, at string) (ends func() time.Time, err error) {
	if how := p.config.Raft.TLS; how != "yes" {
		switch {
		case onLoopback(n.Listen):
		case how == "no":
			p.log.Warn("raft: raft-tls is no: what the members send each other is not encrypted, and a process that reaches this port and knows the name of the "+
				"group (raft-group) can pose as a member. Keep the port among the members", "raft-listen", n.Listen)
		default:
			return nil, fmt.Errorf("raft-listen %s is reached from other machines: state raft-tls yes, with the certificates of tls-cert-file, tls-key-file and "+
				"tls-ca-cert-file; or raft-tls no, if only the members reach that port", n.Listen)
		}
		return nil, nil
	}
	t := &memberTLS{config: p.config.TLS, log: p.log}
	t.config.AuthClients = "yes" // of members, whatever clients of the data need
	if own := p.config.Raft.TLSCACertFile; own != "" {
		t.config.CACertFile, t.config.CACertDir, t.config.CADirective = own, "", "raft-tls-ca-cert-file"
	}
	if slices.Contains(n.Names, engine.AnyName) {
		p.log.Warn("raft: raft-tls-names is *: a process with any certificate of the members' authorities can pose as a member", "authorities", t.config.CACertFile)
	}
	t.source.Check = func(cert *x509.Certificate) error { return engine.CheckOwnCertificate(cert, at, n.Names) }
	if err := t.files.Load(&t.config, t.load); err != nil {
		return nil, fmt.Errorf("raft-tls: %w", err)
	}
	n.Accept = func(conn net.Conn) net.Conn {
		accept, _ := t.current()
		return tls.Server(conn, accept)
	}
	n.Dial = func(ctx context.Context, at string) (net.Conn, error) {
		_, dial := t.current()
		return tlsconf.DialWith(ctx, dial, at)
	}
	return t.source.Ends, nil
}

// memberTLS holds the certificates for other members. Changed files are read again, so that a certificate can
// be replaced without a restart.
type memberTLS struct {
	config config.TLS
	log    *slog.Logger
	source tlsconf.Source

	mu sync.Mutex
	// Under mu: the files that were read last, what this member dials with, and when it was last logged that
	// the certificate has ended.
	files     tlsconf.Files
	dial      *tls.Config
	saidEnded time.Time
}

// sayEndedEvery is the interval of log lines about a certificate that has ended.
const sayEndedEvery = 10 * time.Minute

// load reads the files. After an error nothing has changed.
func (t *memberTLS) load() error {
	dial, err := tlsconf.Dialling(&t.config)
	if err != nil {
		return err
	}
	if err := t.source.Check(dial.Certificates[0].Leaf); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(t.config.ClientCertFile, t.config.CertFile), err)
	}
	if err := t.source.Configure(&t.config); err != nil {
		return err
	}
	t.dial = dial
	return nil
}

// current returns the configurations for the next connection: for accepting and for dialing.
func (t *memberTLS) current() (accept, dial *tls.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files.Refresh(&t.config, t.log, "raft-tls", t.load) {
		t.saidEnded = time.Time{}
	}
	if ends := t.source.Ends(); time.Now().After(ends) && time.Since(t.saidEnded) > sayEndedEvery {
		t.saidEnded = time.Now()
		t.log.Error("raft-tls: the certificate of this member has ended, and the other members refuse it: replace its files, which are read again by themselves",
			"end", ends, "tls-cert-file", t.config.CertFile)
	}
	return t.source.Config(), t.dial
}

// onLoopback reports whether only processes of this machine reach an address. For a name other than localhost
// this is not known.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
