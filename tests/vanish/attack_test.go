//go:build netns

package vanish

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server/raft"
	"lockserver/tests/membership"
	"lockserver/tests/testkit"
)

// places is the number of hosts for the attacked servers.
const places = 9

// processes are servers for the attack of package membership, each on its own host.
type processes struct {
	*lan
	t    *testing.T
	of   []*process // nil if it was forgotten
	free []int      // hosts without a server
}

// process is one of these servers.
type process struct {
	*testkit.Process
	peer   raft.Peer
	host   int
	socket string // its address for this process, whatever is cut
}

// newProcesses prepares three servers that form a group.
func newProcesses(t *testing.T) *processes {
	t.Helper()
	p := &processes{lan: newLAN(t, places), t: t}
	for host := range places {
		p.free = append(p.free, host)
	}
	var all []string
	for host := range members {
		all = append(all, fmt.Sprintf("s%d=%s:7000/%s:6379", host, address(host), address(host)))
	}
	for range members {
		p.prepare("--raft-members", strings.Join(all, " "))
	}
	return p
}

// prepare prepares a server on a free host.
func (p *processes) prepare(words ...string) {
	p.t.Helper()
	host := p.free[0]
	p.free = p.free[1:]
	at, dir := address(host), p.t.TempDir()
	socket, err := os.MkdirTemp("", "ls") // short, because the path of a socket is limited
	require.NoError(p.t, err)
	p.t.Cleanup(func() { _ = os.RemoveAll(socket) })
	of := &process{host: host, socket: filepath.Join(socket, "s")}
	of.peer, err = raft.NewPeer(fmt.Sprint("s", len(p.of)), at+":7000", at+":6379")
	require.NoError(p.t, err)
	of.Process = p.hosts[host].prepare(p.t, testkit.Command{Dir: dir, Ready: func() bool { return of.ask(time.Second, "PING").Kind != 0 }},
		append([]string{"--bind", at, "--port", "6379", "--protected-mode", "no", "--unixsocket", of.socket, "--enable-debug-command", "yes",
			"--raft-id", of.peer.ID, "--raft-listen", of.peer.Raft, "--raft-tls", "no"}, words...)...)
	p.of = append(p.of, of)
}

// ask sends a command past the network. Without a reply the value has no kind.
func (p *process) ask(limit time.Duration, words ...string) (v resp.Value) {
	nc, err := net.Dial("unix", p.socket)
	if err != nil {
		return v
	}
	defer func() { _ = nc.Close() }()
	v, _ = caller{nc, bufio.NewReader(nc), limit}.call(words...)
	return v
}

// All implements membership.Servers, as do the methods below.
func (p *processes) All() (all []int) {
	for s, of := range p.of {
		if of != nil {
			all = append(all, s)
		}
	}
	return all
}

func (p *processes) Peer(s int) raft.Peer { return p.of[s].peer }
func (p *processes) Runs(s int) bool      { return !p.of[s].Ended() }
func (p *processes) Start(s int)          { require.NoError(p.t, p.of[s].Start()) }
func (p *processes) Kill(s int)           { p.of[s].Process.Kill() }

func (p *processes) Cut(s int, on bool) {
	for other := range places {
		p.cut(p.of[s].host, other, on)
		p.cut(other, p.of[s].host, on)
	}
}

func (p *processes) Add() (s int, ok bool) {
	if len(p.free) == 0 {
		return 0, false
	}
	s = len(p.of)
	p.prepare()
	p.Start(s)
	return s, true
}

func (p *processes) Forget(s int) {
	p.Kill(s)
	require.NoError(p.t, os.RemoveAll(p.of[s].Dir))
	p.free = append(p.free, p.of[s].host)
	p.of[s] = nil
}

func (p *processes) Ask(s int, limit time.Duration, words ...string) resp.Value {
	v := p.of[s].ask(limit, words...)
	if v.Kind == 0 {
		return resp.Value{Kind: '-', Str: "no reply"}
	}
	return v
}

// TestAttackOnMembership: a group of processes gets changes of its members while they are killed, and their
// hosts are cut off.
func TestAttackOnMembership(t *testing.T) {
	t.Parallel()
	p := newProcesses(t)
	for _, s := range p.All() {
		require.NoError(t, p.of[s].Launch())
	}
	for _, s := range p.All() {
		require.NoError(t, p.of[s].AwaitReady())
	}
	membership.Run(t, p)
}
