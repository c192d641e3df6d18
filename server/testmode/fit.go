package testmode

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"lockserver/internal/config"
)

// The words of test-topology.
const (
	Standalone = "standalone"
	Cluster    = "cluster"
	Sentinel   = "sentinel"
)

// Alone returns an error for directives that require test mode, in a configuration without it.
func Alone(c *config.Config) error {
	if c.TestTopology != Standalone {
		return errors.New("test-topology needs test-mode yes")
	}
	return nil
}

// Fit prepares a configuration for test mode. It drops the default save points of Redis, because they were
// not configured. The error names the first directive that test mode does not work with. Every client may set
// the clock, so the server must not keep data, and other servers must not depend on it.
func Fit(c *config.Config) error {
	switch {
	case c.AppendOnly:
		return errors.New("test-mode: not with appendonly: nothing is kept")
	case len(c.Save) > 0 && !slices.Equal(c.Save, config.Default().Save):
		return errors.New("test-mode: not with save points: nothing is kept")
	case c.TestTopology != Standalone && !c.ListensTCP():
		return errors.New("test-mode: test-topology needs a port: members are distinguished by it")
	case c.UnixSocket != "" && c.UnixSocketPerm&0o077 != 0:
		return errors.New("test-mode: not with a unixsocket that others may use")
	case c.Raft.ID != "":
		return errors.New("test-mode: not with raft-id: a group has a time of its own")
	case c.Replication.MasterHost != "":
		return errors.New("test-mode: not with replicaof: others would get a time that is none")
	}
	if c.ListensTCP() || c.TLS.Port != 0 {
		for _, host := range c.Bind {
			if at, err := netip.ParseAddr(trimDash(host)); err != nil || !at.IsLoopback() {
				return fmt.Errorf("test-mode: not with bind %s: only this machine may connect, as by 127.0.0.1", host)
			}
		}
	}
	c.Save, c.DBFilename = nil, ""
	if c.UnixSocket != "" && c.UnixSocketPerm == 0 {
		c.UnixSocketPerm = 0o700 // for any umask
	}
	return nil
}

// FitListener does what Fit does, for a listener that the program provides. If it is not a TCP listener, the
// program knows which clients can connect.
func FitListener(at net.Addr) error {
	if tcp, ok := at.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		return fmt.Errorf("test-mode: not with a listener on %s: only this machine may connect, as to 127.0.0.1", tcp)
	}
	return nil
}

// trimDash returns an address without the dash that marks it as optional.
func trimDash(host string) string {
	if len(host) > 0 && host[0] == '-' {
		return host[1:]
	}
	return host
}
