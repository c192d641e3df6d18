//go:build unix

package fleet

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// Name is the Sentinels' name for the master.
const Name = "it"

// Fleet is a set of servers with one leader, and three Sentinels.
type Fleet struct {
	Members   []*Process
	Sentinels []*Process

	t testing.TB
}

// serverConf is the configuration of each server. A server rewrites its file when a Sentinel changes the
// leader.
const serverConf = "save \"\"\nappendonly yes\nrepl-diskless-sync-delay 0\nenable-debug-command yes\n"

// sentinelConf is the configuration of a Sentinel.
const sentinelConf = `sentinel monitor ` + Name + ` 127.0.0.1 %s 2
sentinel down-after-milliseconds ` + Name + ` 1000
sentinel failover-timeout ` + Name + ` 3000
`

// haste makes a Sentinel check more often than by default. While the master is down it asks the replicas once
// a second. It promotes no replica that has not answered for five ping periods, so these must be longer than
// a second.
var haste = []string{"SENTINEL", "DEBUG", "info-period", "200", "publish-period", "300", "ping-period", "400", "ask-period", "200",
	"slave-reconf-timeout", "2000", "election-timeout", "2000", "tilt-period", "1000", "min-link-reconnect-period", "1000"}

// Start starts servers, with the first as leader, and Sentinels for them, which are processes of
// redis-server. The lines of conf are only for lockservers: a Redis does not know all directives.
func Start(t testing.TB, sentinel, conf string, servers ...string) *Fleet {
	t.Helper()
	return StartSecure(t, nil, sentinel, conf, servers...)
}

// StartSecure is Start for processes that require TLS and a user; all of them are lockservers.
func StartSecure(t testing.TB, secure *Secure, sentinel, conf string, servers ...string) *Fleet {
	t.Helper()
	var members []*Process
	for _, program := range servers {
		own := serverConf
		if !strings.HasPrefix(filepath.Base(program), "redis-server") {
			own += conf
		}
		p := NewProcess(t, program, own)
		secure.server(p)
		members = append(members, p)
	}
	return Watch(t, sentinel, members...)
}

// Watch starts processes, makes all follow the first one, and starts Sentinels for them.
func Watch(t testing.TB, sentinel string, members ...*Process) *Fleet {
	t.Helper()
	f := &Fleet{t: t, Members: members}
	for i, p := range members {
		p.Start()
		if i > 0 {
			require.Equal(t, "+OK", p.Try("REPLICAOF", "127.0.0.1", members[0].Announced).String())
		}
	}
	for range 3 {
		p := NewProcess(t, sentinel, fmt.Sprintf(sentinelConf, members[0].Announced), "--sentinel")
		members[0].secure.sentinel(p)
		p.Start()
		require.Equal(t, "+OK", p.Try(haste...).String())
		f.Sentinels = append(f.Sentinels, p)
	}
	f.Steady(members[0])
	return f
}

// Leader returns the leader that a Sentinel names, or nil.
func (f *Fleet) Leader(sentinel *Process) *Process {
	at := sentinel.Try("SENTINEL", "GET-MASTER-ADDR-BY-NAME", Name)
	for _, p := range f.Members {
		if len(at.Elems) == 2 && at.Elems[1].Str == p.Announced {
			return p
		}
	}
	return nil
}

// Steady waits until the given member leads, the others follow it, and each Sentinel knows it.
func (f *Fleet) Steady(leader *Process) {
	f.t.Helper()
	eventually(f.t, "all agree that "+leader.Port+" leads", func() bool { return f.agreesOn(leader) })
}

// AwaitLeader waits until one member leads, the others follow it, and each Sentinel knows it.
func (f *Fleet) AwaitLeader() *Process {
	f.t.Helper()
	var leader *Process
	eventually(f.t, "all agree on who leads", func() bool {
		leader = f.Leader(f.Sentinels[0])
		return leader != nil && f.agreesOn(leader)
	})
	return leader
}

func (f *Fleet) agreesOn(leader *Process) bool {
	if leader.Field("role") != "master" || leader.Field("connected_slaves") != strconv.Itoa(len(f.Members)-1) {
		return false
	}
	for _, p := range f.Members {
		if p != leader && !p.follows(leader) {
			return false
		}
	}
	for _, s := range f.Sentinels {
		if !f.content(s, leader) {
			return false
		}
	}
	return true
}

// content reports whether a Sentinel knows all members and has nothing to do.
func (f *Fleet) content(sentinel, leader *Process) bool {
	master := flat(sentinel.Try("SENTINEL", "MASTER", Name))
	if master["port"] != leader.Announced || master["flags"] != "master" || master["num-other-sentinels"] != "2" {
		return false
	}
	replicas := sentinel.Try("SENTINEL", "REPLICAS", Name).Elems
	for _, r := range replicas {
		of := flat(r)
		if of["flags"] != "slave" || of["role-reported"] != "slave" || of["master-link-status"] != "ok" || of["master-port"] != leader.Announced {
			return false
		}
	}
	return len(replicas) == len(f.Members)-1
}

// flat converts an array of names and values.
func flat(v resp.Value) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(v.Elems); i += 2 {
		all[v.Elems[i].Str] = v.Elems[i+1].Str
	}
	return all
}

// Replace makes a Sentinel promote another member while the leader lives. A Sentinel that has just written
// its file, and stood still meanwhile, has outdated data about the replicas. It refuses, or gives up, and
// does not try again by itself. So Replace asks it again.
func (f *Fleet) Replace(leader *Process) {
	f.t.Helper()
	sentinel := f.Sentinels[0]
	eventually(f.t, "a Sentinel replaces "+leader.Port, func() bool {
		master := flat(sentinel.Try("SENTINEL", "MASTER", Name))
		if master["port"] == leader.Announced && !strings.Contains(master["flags"], "failover_in_progress") {
			sentinel.Try("SENTINEL", "FAILOVER", Name)
		}
		return len(master) > 0 && master["port"] != leader.Announced
	})
}

// Successor waits until all Sentinels name another leader, and it leads.
func (f *Fleet) Successor(of *Process) *Process {
	f.t.Helper()
	var next *Process
	eventually(f.t, "another one leads", func() bool {
		next = f.Leader(f.Sentinels[0])
		for _, s := range f.Sentinels {
			if f.Leader(s) != next {
				return false
			}
		}
		return next != nil && next != of && next.Field("role") == "master"
	})
	return next
}

// Same waits until all members have the leader's data; no client may write to it.
func (f *Fleet) Same(leader *Process) {
	f.t.Helper()
	f.Steady(leader)
	for _, p := range f.Members {
		if p == leader {
			continue
		}
		for {
			before := leader.Try("DEBUG", "DIGEST").String()
			eventually(f.t, p.Port+" has what "+leader.Port+" has", func() bool {
				return p.follows(leader) && p.Field("master_repl_offset") == leader.Field("master_repl_offset")
			})
			has := p.Try("DEBUG", "DIGEST").String()
			if before == leader.Try("DEBUG", "DIGEST").String() { // otherwise a key has expired meanwhile
				require.Equal(f.t, before, has)
				break
			}
		}
	}
}
