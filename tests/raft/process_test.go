//go:build raft && unix

package raft

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/fleet"
	"lockserver/tests/testkit"
)

// processes prepares the processes of a group.
func processes(t *testing.T, count int) (all []*fleet.Process) {
	program := testkit.Lockserver(t)
	var raftAt []string
	for range count {
		raftAt = append(raftAt, "127.0.0.1:"+testkit.FreePort(t))
	}
	var ids, members []string
	for i, at := range raftAt {
		ids = append(ids, string(rune('a'+i)))
		all = append(all, fleet.NewProcess(t, program, "enable-debug-command yes\nlog-format json\nraft-id "+ids[i]+"\nraft-listen "+at+"\ninclude members\n"))
		members = append(members, ids[i]+"="+at+"/"+all[i].Addr())
	}
	for _, p := range all {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir(), "members"), fmt.Appendf(nil, "raft-members %q\n", strings.Join(members, " ")), 0o600))
	}
	return all
}

// leaderOf waits until one of the given processes leads.
func leaderOf(t *testing.T, of []*fleet.Process) (found *fleet.Process) {
	eventually(t, "a process leads", func() bool {
		for _, p := range of {
			if p.Field("raft_role") == "leader" {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// TestKilledLeader: the leader under load is killed (kill -9) or paused (kill -STOP), again and again. In a
// group of five, another member is killed with it. No acknowledged write is lost, and the tokens tell which
// owner of a lock is the newest.
func TestKilledLeader(t *testing.T) {
	for _, members := range []int{3, 5} {
		t.Run(fmt.Sprint(members), func(t *testing.T) { killLeaders(t, processes(t, members)) })
	}
}

func killLeaders(t *testing.T, all []*fleet.Process) {
	for _, p := range all {
		p.Start()
	}
	leaderOf(t, all)
	var acked [4]atomic.Int64
	var tokens [4]int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for id := range acked {
		clients.Go(func() {
			key, next := fmt.Sprint("key", id), int64(1)
			for at := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("tcp", all[at].Addr())
				if err != nil {
					at = (at + 1) % len(all)
					continue
				}
				c := testkit.NewClient(t, conn)
				c.Timeout = 3 * time.Second
				for err == nil {
					v, broken := c.Call("SET", key, fmt.Sprint(next))
					if err = broken; err != nil || v.Str != "OK" {
						break
					}
					acked[id].Store(next)
					next++
					got, broken := c.Call("GET", key)
					if err = broken; err == nil && got.Kind != '-' && got.Str != fmt.Sprint(acked[id].Load()) {
						t.Errorf("%s is %s, and %d was acknowledged", key, got.Str, acked[id].Load())
						return
					}
					v, broken = c.Call("LOCK", key+":lock", "me", "PX", "60000", "ONCE")
					if err = broken; err == nil && v.Int > 0 {
						if v.Int < tokens[id] {
							t.Errorf("token %d after %d", v.Int, tokens[id])
							return
						}
						tokens[id] = v.Int
						if next%5 == 0 {
							_, err = c.Call("UNLOCK", key+":lock", "me")
						}
					}
					select {
					case <-stop:
						err = net.ErrClosed
					default:
					}
				}
				next++ // what became of the last one is not known
				c.Close()
				at = (at + 1) % len(all)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	for round := range 4 {
		before := acked[0].Load()
		eventually(t, "writes are acknowledged", func() bool { return acked[0].Load() > before+20 })
		old := leaderOf(t, all)
		requireLogged(t, old, "leader")
		if round%2 == 0 {
			old.Kill()
		} else {
			old.Pause()
		}
		rest := without(all, old)
		if len(all) == 5 {
			rest[round].Kill()
		}
		leaderOf(t, rest)
		before = acked[0].Load()
		eventually(t, "writes are acknowledged by others", func() bool { return acked[0].Load() > before+20 })
		if round%2 == 0 {
			old.Start()
		} else {
			old.GoOn()
		}
		if len(all) == 5 {
			rest[round].Start()
		}
	}
	for _, p := range without(all, leaderOf(t, all)) {
		requireLogged(t, p, "follower")
	}
	close(stop)
	clients.Wait()
	for i, p := range all {
		for _, line := range logOf(t, p) {
			require.Equal(t, string(rune('a'+i)), line.Member)
		}
	}
	for id := range acked {
		var is int64
		eventually(t, "it is read", func() bool {
			v := leaderOf(t, all).Try("GET", fmt.Sprint("key", id))
			_, err := fmt.Sscan(v.Str, &is)
			return err == nil
		})
		require.GreaterOrEqual(t, is, acked[id].Load())
		require.Positive(t, acked[id].Load())
	}
	eventually(t, "all have the same", func() bool {
		first := all[0].Try("DEBUG", "DIGEST").String()
		return len(first) > 20 && !slices.ContainsFunc(all, func(p *fleet.Process) bool { return p.Try("DEBUG", "DIGEST").String() != first })
	})
}

// logLine matches a line of a member's log.
type logLine struct{ Member, Role, Message string }

// logOf returns the lines of a member's log from all its runs. A kill may have cut a line off.
func logOf(t *testing.T, p *fleet.Process) (lines []logLine) {
	for text := range strings.Lines(p.Log()) {
		var line logLine
		if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}\n") {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		lines = append(lines, line)
	}
	require.NotEmpty(t, lines)
	return lines
}

// requireLogged waits until the log of a member has a line with this role.
func requireLogged(t *testing.T, p *fleet.Process, role string) {
	t.Helper()
	eventually(t, "a line of the log has the role "+role, func() bool {
		return slices.ContainsFunc(logOf(t, p), func(l logLine) bool { return l.Role == role })
	})
}

func without(all []*fleet.Process, one *fleet.Process) (rest []*fleet.Process) {
	for _, p := range all {
		if p != one {
			rest = append(rest, p)
		}
	}
	return rest
}

// TestStarts: a start with an impossible configuration is refused with the reason.
func TestStarts(t *testing.T) {
	program := testkit.Lockserver(t)
	member, old := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(member, "raft"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(member, "raft", "member"), []byte("a lockserver\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(old, "dump.rdb"), nil, 0o600))
	members := "a=127.0.0.1:7001/127.0.0.1:6001 b=127.0.0.1:7002/127.0.0.1:6002 c=127.0.0.1:7003/127.0.0.1:6003"
	for _, c := range []struct{ args, says string }{
		{"--raft-id d --raft-listen 127.0.0.1:7001 --raft-members M", "raft-id 'd' is not in raft-members"},
		{"--raft-id a --raft-listen 127.0.0.1:7002 --raft-members M", "raft-listen 127.0.0.1:7002 where raft-members has 'b': an id is one server's"},
		{"--raft-id a --raft-members M", "raft-listen is missing"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members a=b", "'a=b' is no member"},
		{"--raft-members M", "need raft-id"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members M --appendonly yes", "exclude each other"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members M --replicaof 127.0.0.1 1", "exclude each other"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members M --raft-tls yes", "raft-tls"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members M --dir " + old, "which a raft group does not load"},
		{"--raft-id b --raft-listen 127.0.0.1:7002 --raft-members M --dir " + member, "the directory is that of 'a lockserver'"},
		{"--raft-id a --raft-listen 127.0.0.1:7001 --raft-members M --raft-group other --dir " + member, "the directory is that of 'a lockserver'"},
		{"--dir " + member, "a server without raft-id does not load"},
	} {
		args := strings.Fields("--port 0 --dir " + t.TempDir() + " " + c.args)
		for i := range args {
			if args[i] == "M" {
				args[i] = members
			}
		}
		p := testkit.Prepare(t, testkit.Command{Program: program, Args: args})
		require.NoError(t, p.Launch(), c.args)
		code, err := p.Wait() // one that starts goes on
		require.NoError(t, err, c.args)
		require.NotZero(t, code, c.args)
		require.Contains(t, p.Log(), c.says, c.args)
	}
}
