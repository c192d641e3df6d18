//go:build unix

// Command serve runs a fleet for a test that is not written in Go, or is in another module:
//
//	serve [-conf "directive value"]... program program ...
//	serve -group cluster|sentinel [-shards N] [-conf "directive value"]... program program ...
//
// With -shards there are N raft groups of these programs, the shards of a cluster. Commands are about the
// first one, which has the first slots.
//
// With -secure and a folder of certificates all require TLS and a user: see fleet.Secure.
//
// The first program leads; with -group they form a raft group. Serve prints a line of JSON when all is ready,
// and one for each command that it reads. A command is one word on a line. A line of JSON is an object with
// the addresses of the leader and of the Sentinels or the nodes of a cluster, or with an error. At the end of
// the input it ends all of its processes.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

func main() {
	var conf strings.Builder
	flag.Func("conf", "a `line` of the lockservers' configuration", func(line string) error {
		conf.WriteString(line + "\n")
		return nil
	})
	group := flag.String("group", "", "the servers are a raft group, which clients see as a `cluster` or by a sentinel")
	shards := flag.Int("shards", 1, "the `number` of raft groups, which are the shards of a cluster")
	secure := flag.String("secure", "", "demand TLS and a user, with the certificates in a `folder`")
	flag.Parse()
	if *group != "" {
		conf.WriteString("raft-clients " + *group + "\n")
	}
	form := form{conf: conf.String(), group: *group, shards: *shards, secure: *secure, programs: flag.Args()}
	if !serve(os.Stdin, os.Stdout, form) {
		os.Exit(1)
	}
}

// form says which fleet to run.
type form struct {
	conf, group, secure string
	shards              int
	programs            []string
}

// answer is the object that is printed.
type answer struct {
	Name      string   `json:"name,omitempty"`
	Sentinels []string `json:"sentinels,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	Leader    string   `json:"leader,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// serve runs a fleet until there are no more commands. It returns false after a failure.
func serve(commands io.Reader, to io.Writer, of form) bool {
	t := &run{}
	defer t.end()
	print := json.NewEncoder(to)
	var p *play
	ok := t.try(func() { p = start(t, of) })
	lines := bufio.NewScanner(commands)
	for ok {
		_ = print.Encode(p.answer())
		if !lines.Scan() {
			return true
		}
		ok = t.try(func() { p.do(lines.Text()) })
	}
	t.end() // end prints more about a failure
	_ = print.Encode(answer{Error: t.said.String()})
	return false
}

// servers are a set of servers with one leader.
type servers interface {
	// AwaitLeader waits until one server leads, and all agree on it.
	AwaitLeader() *fleet.Process
	// Successor waits until another server leads.
	Successor(of *fleet.Process) *fleet.Process
	// Same waits until all servers have the same data.
	Same(leader *fleet.Process)
	// Replace makes another server lead, while the leader lives.
	Replace(leader *fleet.Process)
}

// play holds the servers, and the last thing that was done to them.
type play struct {
	servers
	t      testing.TB
	where  answer // the addresses, without the leader
	leader *fleet.Process
	all    []*fleet.Process
	back   func() // undoes the last command
}

func start(t testing.TB, of form) *play {
	p := &play{t: t, back: func() {}}
	var secure *fleet.Secure
	if of.secure != "" {
		secure = fleet.Demanding(t, of.secure)
	}
	if of.group == "" {
		f := fleet.StartSecure(t, secure, string(testkit.Installed(t)), of.conf, of.programs...)
		p.all = slices.Concat(f.Members, f.Sentinels)
		p.servers, p.leader = watched{f, t, p}, f.Members[0]
		p.where = answer{Name: fleet.Name, Sentinels: addresses(f.Sentinels)}
		return p
	}
	if of.shards > 1 {
		groups := fleet.FormShards(t, of.shards, of.conf, of.programs...)
		for _, g := range groups {
			p.all = append(p.all, g.Members...)
		}
		p.servers, p.leader, p.where = groups[0], groups[0].AwaitLeader(), answer{Name: fleet.GroupName, Nodes: addresses(p.all)}
		return p
	}
	g := fleet.FormSecure(t, secure, of.conf, of.programs...)
	p.all = g.Members
	p.servers, p.leader, p.where.Name = g, g.AwaitLeader(), fleet.GroupName
	if all := addresses(g.Members); of.group == "cluster" {
		p.where.Nodes = all
	} else {
		p.where.Sentinels = all
	}
	return p
}

func addresses(of []*fleet.Process) (all []string) {
	for _, p := range of {
		all = append(all, p.Addr())
	}
	return all
}

func (p *play) answer() answer {
	a := p.where
	a.Leader = p.leader.Addr()
	return a
}

// do runs a command.
func (p *play) do(command string) {
	old := p.leader
	switch command {
	case "kill": // kill the leader, and wait for the next one
		old.Kill()
		p.back = old.Start
	case "pause": // pause the leader by SIGSTOP
		old.Pause()
		p.back = old.GoOn
	case "strand": // kill the leader and stop all others, so that none leads until "mend"
		p.strand()
		return
	case "plan": // make another server lead
		p.Replace(old)
	case "mend": // restore the servers that were killed or paused last, and wait until they follow
		p.back()
		p.back = func() {}
		p.leader = p.AwaitLeader()
		return
	case "same": // wait until all have the same data; no client writes
		p.leader = p.AwaitLeader()
		p.Same(p.leader)
		return
	default:
		require.Fail(p.t, "there is no command "+command)
	}
	p.leader = p.Successor(old)
}

// strand leaves the clients without a leader.
func (p *play) strand() {
	old := p.leader
	p.back = func() {
		for _, other := range p.all {
			if other != old {
				other.GoOn()
			}
		}
		p.Successor(old)
		old.Start()
	}
	for _, other := range p.all {
		if other != old {
			other.Pause()
		}
	}
	old.Kill()
}

// watched are servers under Sentinels.
type watched struct {
	*fleet.Fleet
	t    testing.TB
	play *play
}

// Replace asks for a failover while the leader lives. The Sentinel does not stop the leader first. When the
// other server is promoted, the leader has one replica less. If it needs all of them, it acknowledges nothing
// more.
func (w watched) Replace(leader *fleet.Process) {
	if ack := leader.Try("CONFIG", "GET", "min-replicas-ack").Elems; len(ack) > 1 { // a Redis does not have this directive
		require.Equal(w.t, "+OK", leader.Try("CONFIG", "SET", "min-replicas-ack", strconv.Itoa(len(w.Members)-1)).String())
		w.play.back = func() {
			require.Equal(w.t, "+OK", leader.Try("CONFIG", "SET", "min-replicas-ack", ack[1].Str).String())
		}
	}
	w.Fleet.Replace(leader)
}

// run implements testing.TB outside of a test.
type run struct {
	testing.TB // its other methods, which are not called

	said     strings.Builder
	failed   bool
	cleanups []func()
}

// failure is the value of FailNow's panic.
type failure struct{}

// try runs do, and returns false if it has failed.
func (t *run) try(do func()) bool {
	defer func() {
		if e := recover(); e != nil && e != (failure{}) {
			panic(e)
		}
	}()
	do()
	return !t.failed
}

func (t *run) Name() string     { return "fleet" }
func (t *run) Helper()          {}
func (t *run) Failed() bool     { return t.failed }
func (t *run) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *run) Logf(format string, args ...any) { fmt.Fprintf(&t.said, format+"\n", args...) }

func (t *run) Errorf(format string, args ...any) {
	t.failed = true
	t.Logf(format, args...)
}

func (t *run) FailNow() {
	t.failed = true
	panic(failure{})
}

func (t *run) Fatal(args ...any) {
	t.Errorf("%s", fmt.Sprint(args...))
	t.FailNow()
}

// TempDir returns a folder that is removed at the end.
func (t *run) TempDir() string {
	dir, err := os.MkdirTemp("", "lockserver-fleet-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// end runs the cleanup functions, as at the end of a test.
func (t *run) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	t.cleanups = nil
}
