//go:build unix

// Command serve runs a fleet for a test that is not written in Go, or is in another module:
//
//	serve [-conf "directive value"]... program program ...
//	serve -group cluster|sentinel [-conf "directive value"]... program program ...
//
// With -secure and a folder of certificates all demand TLS and a user: see fleet.Secure.
//
// The first program leads; with -group they form a raft group. Serve prints a line of JSON when all is ready,
// and one for each command that it reads, a word a line. An object has the addresses of the Sentinels, or of
// the nodes of a cluster, and of who leads, or an error. At the end of the input it ends all of its
// processes.
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

	"lockserver/internal/testkit"
	"lockserver/tests/fleet"
)

func main() {
	var conf strings.Builder
	flag.Func("conf", "a `line` of the lockservers' configuration", func(line string) error {
		conf.WriteString(line + "\n")
		return nil
	})
	group := flag.String("group", "", "the servers are a raft group, which clients see as a `cluster` or by a sentinel")
	secure := flag.String("secure", "", "demand TLS and a user, with the certificates in a `folder`")
	flag.Parse()
	if *group != "" {
		conf.WriteString("raft-clients " + *group + "\n")
	}
	form := form{conf: conf.String(), group: *group, secure: *secure, programs: flag.Args()}
	if !serve(os.Stdin, os.Stdout, form) {
		os.Exit(1)
	}
}

// form is which fleet is asked for.
type form struct {
	conf, group, secure string
	programs            []string
}

// answer is what is printed.
type answer struct {
	Name      string   `json:"name,omitempty"`
	Sentinels []string `json:"sentinels,omitempty"`
	Nodes     []string `json:"nodes,omitempty"`
	Leader    string   `json:"leader,omitempty"`
	Error     string   `json:"error,omitempty"`
}

// serve runs a fleet until there are no more commands, or something went wrong: false.
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
	t.end() // it has more to say about a failure
	_ = print.Encode(answer{Error: t.said.String()})
	return false
}

// servers are those with one leader.
type servers interface {
	// AwaitLeader waits until one leads, and all agree on that.
	AwaitLeader() *fleet.Process
	// Successor waits until another one leads than this one.
	Successor(of *fleet.Process) *fleet.Process
	// Same waits until all have the same data.
	Same(leader *fleet.Process)
	// Replace has another one lead, while this one lives.
	Replace(leader *fleet.Process)
}

// play is servers, and what was done to them last.
type play struct {
	servers
	t      testing.TB
	where  answer // but for the leader
	leader *fleet.Process
	all    []*fleet.Process
	back   func() // undoes it
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
	case "kill": // the leader, with SIGKILL, and wait for the next one
		old.Kill()
		p.back = old.Start
	case "pause": // it, with SIGSTOP
		old.Pause()
		p.back = old.GoOn
	case "strand": // kill it, and stop all others, so that none leads until that is mended
		p.strand()
		return
	case "plan": // have another one lead
		p.Replace(old)
	case "mend": // what was killed or paused last is back, and follows
		p.back()
		p.back = func() {}
		p.leader = p.AwaitLeader()
		return
	case "same": // all have the same data; no client writes
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

// watched are servers that Sentinels look after.
type watched struct {
	*fleet.Fleet
	t    testing.TB
	play *play
}

// Replace asks for a failover while the leader lives. A Sentinel does not stop it first. When the other one
// is promoted it has a replica less, so if it needs all of them it acknowledges nothing more.
func (w watched) Replace(leader *fleet.Process) {
	if ack := leader.Try("CONFIG", "GET", "min-replicas-ack").Elems; len(ack) > 1 { // a Redis has none
		require.Equal(w.t, "+OK", leader.Try("CONFIG", "SET", "min-replicas-ack", strconv.Itoa(len(w.Members)-1)).String())
		w.play.back = func() {
			require.Equal(w.t, "+OK", leader.Try("CONFIG", "SET", "min-replicas-ack", ack[1].Str).String())
		}
	}
	w.Fleet.Replace(leader)
}

// run takes the place of a test.
type run struct {
	testing.TB // the rest of it, which nothing here calls

	said     strings.Builder
	failed   bool
	cleanups []func()
}

// failure is what FailNow panics with.
type failure struct{}

// try does something; false: it has failed.
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

// TempDir is a folder that is gone at the end.
func (t *run) TempDir() string {
	dir, err := os.MkdirTemp("", "lockserver-fleet-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// end does what a test does at its end.
func (t *run) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	t.cleanups = nil
}
