//go:build netns

package vanish

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// members is the number of servers in a group, and outside is the host of its clients.
const (
	members = 3
	outside = members
)

// group is a raft group with each member as a process on its own host.
type group struct {
	*lan
	t       *testing.T
	sockets [members + 1]string // the address of each server for this process, whatever is cut
	of      [members + 1]*testkit.Process
	options []string // for each of its servers
}

// newGroup starts a group with the data of its members in these directories.
func newGroup(t *testing.T, dirs [members]string, options ...string) *group {
	t.Helper()
	g := &group{lan: newLAN(t, members+1), options: options, t: t}
	for i, dir := range dirs {
		g.start(i, i, dir)
	}
	return g
}

// tempDirs returns temporary directories.
func tempDirs(t *testing.T) (dirs [members]string) {
	for i := range dirs {
		dirs[i] = t.TempDir()
	}
	return dirs
}

// start starts a server on a host, as a member.
func (g *group) start(host, member int, dir string) {
	g.t.Helper()
	var all []string
	for i := range members {
		all = append(all, fmt.Sprintf("%c=%s:7000/%s:6379", 'a'+i, address(i), address(i)))
	}
	at := address(host)
	g.sockets[host] = filepath.Join(g.t.TempDir(), "s")
	p := g.hosts[host].prepare(g.t, testkit.Command{Dir: dir}, slices.Concat([]string{"--bind", at, "--port", "6379", "--protected-mode", "no",
		"--unixsocket", g.sockets[host], "--enable-debug-command", "yes",
		"--raft-id", string(rune('a' + member)), "--raft-listen", at + ":7000", "--raft-tls", "no", "--raft-members", strings.Join(all, " ")}, g.options)...)
	g.of[host] = p
	require.NoError(g.t, p.Launch())
}

// caller is a connection to a member; an error ends it.
type caller struct {
	nc     net.Conn
	in     *bufio.Reader
	within time.Duration // the longest time for a reply
}

// callWithin is the usual longest time for a reply.
const callWithin = 3 * time.Second

// call sends a command. If the reply is an error, call returns an error.
func (c caller) call(words ...string) (resp.Value, error) {
	_ = c.nc.SetDeadline(time.Now().Add(c.within))
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := c.nc.Write(b); err != nil {
		return resp.Value{}, err
	}
	v, err := resp.ReadValue(c.in)
	if err == nil && v.IsError() {
		err = fmt.Errorf("%v: %s", words, v.Str)
	}
	return v, err
}

// ask sends a member a command past the network. After a failure the reply is empty.
func (g *group) ask(member int, words ...string) (v resp.Value) {
	nc, err := net.Dial("unix", g.sockets[member])
	if err != nil {
		return v
	}
	defer func() { _ = nc.Close() }()
	v, _ = caller{nc, bufio.NewReader(nc), callWithin}.call(words...)
	return v
}

// eventually waits for a condition. A group may need several elections for it.
func (g *group) eventually(what string, so func() bool) {
	g.t.Helper()
	require.Eventually(g.t, so, time.Minute, 20*time.Millisecond, what)
}

// leader waits until one of the given members leads.
func (g *group) leader(of ...int) (found int) {
	g.t.Helper()
	g.eventually("a member leads", func() bool {
		for _, m := range of {
			if strings.Contains(g.ask(m, "RAFT", "INFO").Str, "raft_role:leader") {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// writer writes rising numbers to its own key. With a lock that all writers share it writes to a list.
type writer struct {
	key    string
	acked  atomic.Int64
	wrong  atomic.Pointer[string]
	pushed []string // the acknowledged writes to the list
}

// write writes until stop is closed, to one member after the other.
func (w *writer) write(l *lan, stop <-chan struct{}) {
	next := int64(1)
	for at := 0; ; at = (at + 1) % members {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		nc, err := l.connect(outside, at)
		if err != nil {
			continue
		}
		c := caller{nc, bufio.NewReader(nc), callWithin}
		for err == nil {
			select {
			case <-stop:
				err = net.ErrClosed
				continue
			default:
			}
			n := next
			next++ // the result of this write may be unknown
			if _, err = c.call("SET", w.key, fmt.Sprint(n)); err != nil {
				break
			}
			w.acked.Store(n)
			v, broken := c.call("GET", w.key)
			if err = broken; err == nil && v.Str != fmt.Sprint(n) {
				w.wrong.Store(new(fmt.Sprintf("%s is %s, and %d was acknowledged", w.key, v.Str, n)))
				return
			}
			if err == nil {
				err = w.push(c)
			}
		}
		_ = nc.Close()
	}
}

// push writes to the list with the shared lock and its token, if the lock is free.
func (w *writer) push(c caller) error {
	v, err := c.call("LOCK", "lock", w.key, "PX", "2000", "ONCE")
	if err != nil || v.Int == 0 {
		return err
	}
	token := strconv.FormatInt(v.Int, 10)
	if _, err = c.call("GUARD", "lock", token, "RPUSH", "list", token); err != nil {
		return err
	}
	w.pushed = append(w.pushed, token)
	_, err = c.call("UNLOCK", "lock", w.key)
	return err
}

// TestAGroupThatIsCut: three processes on three hosts under load, with a network that is cut in every
// possible way. Nothing acknowledged is lost, no read is old, and tokens rise. As long as the members of a
// majority reach each other, and clients reach them, the group goes on.
func TestAGroupThatIsCut(t *testing.T) {
	t.Parallel()
	g := newGroup(t, tempDirs(t))
	g.leader(0, 1, 2)
	var writers [3]writer
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range writers {
		writers[i].key = fmt.Sprint("key", i)
		all.Go(func() { writers[i].write(g.lan, stop) })
	}
	acked := func() (sum int64) {
		for i := range writers {
			sum += writers[i].acked.Load()
		}
		return sum
	}
	goesOn := func(what string) {
		t.Helper()
		before := acked()
		g.eventually(what, func() bool { return acked() > before+30 })
	}
	others := func(m int) (a, b int) { return (m + 1) % members, (m + 2) % members }
	goesOn("at first")
	for _, way := range []struct {
		name string
		cut  func(leader int)
	}{
		{"the leader is alone", func(leader int) {
			var old net.Conn
			var c caller
			g.eventually("the leader writes", func() bool {
				var err error
				if old, err = g.connect(outside, leader); err == nil {
					t.Cleanup(func() { _ = old.Close() })
					c = caller{old, bufio.NewReader(old), callWithin}
					_, err = c.call("SET", "read", "old")
				}
				if err != nil { // another member may lead now
					leader = g.leader(0, 1, 2)
				}
				return err == nil
			})
			a, b := others(leader)
			for _, o := range []int{a, b} {
				g.cut(leader, o, true)
				g.cut(o, leader, true)
			}
			next := g.leader(a, b)
			g.eventually("the new leader writes", func() bool { return g.ask(next, "SET", "read", "new").Str == "OK" })
			if v, err := c.call("GET", "read"); err == nil {
				require.Equal(t, "new", v.Str, "the old leader answered")
			}
		}},
		{"the leader hears nobody", func(leader int) {
			a, b := others(leader)
			g.cut(a, leader, true)
			g.cut(b, leader, true)
		}},
		{"nobody hears the leader", func(leader int) {
			a, b := others(leader)
			g.cut(leader, a, true)
			g.cut(leader, b, true)
		}},
		{"the leader and one other do not reach each other", func(leader int) {
			a, _ := others(leader)
			g.cut(leader, a, true)
			g.cut(a, leader, true)
		}},
		{"those that follow do not reach each other", func(leader int) {
			a, b := others(leader)
			g.cut(a, b, true)
			g.cut(b, a, true)
		}},
		{"each tenth packet is lost, and all are late", func(int) {
			for _, ways := range g.ways {
				for _, d := range ways {
					d.lostInPct.Store(10)
					d.delayMS.Store(10)
				}
			}
		}},
	} {
		way.cut(g.leader(0, 1, 2))
		goesOn(way.name)
		g.mend()
		goesOn("mended: " + way.name)
	}

	for from := range members {
		for to := range members {
			g.cut(from, to, true)
		}
	}
	g.eventually("there is no leader", func() bool {
		for m := range members {
			if strings.Contains(g.ask(m, "RAFT", "INFO").Str, "raft_role:leader") {
				return false
			}
		}
		return true
	})
	time.Sleep(callWithin) // writes that are answered by then count
	before := acked()
	time.Sleep(2 * time.Second)
	require.Equal(t, before, acked(), "nobody has a majority")
	g.mend()
	goesOn("mended after all were alone")
	close(stop)
	all.Wait()

	leader := g.leader(0, 1, 2)
	var list resp.Value
	g.eventually("the list is read", func() bool {
		list = g.ask(leader, "LRANGE", "list", "0", "-1")
		return len(list.Elems) > 0
	})
	last, has := int64(0), map[string]bool{}
	for _, e := range list.Elems {
		token, err := strconv.ParseInt(e.Str, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, token, last, "tokens rise")
		last, has[e.Str] = token, true
	}
	for i := range writers {
		w := &writers[i]
		if text := w.wrong.Load(); text != nil {
			t.Error(*text)
		}
		is, err := strconv.ParseInt(g.ask(leader, "GET", w.key).Str, 10, 64)
		require.NoError(t, err)
		require.GreaterOrEqual(t, is, w.acked.Load())
		require.NotEmpty(t, w.pushed)
		for _, token := range w.pushed {
			require.True(t, has[token], "token %s was acknowledged", token)
		}
	}
	g.eventually("all have the same", func() bool {
		first := g.ask(0, "DEBUG", "DIGEST").Str
		return len(first) == 40 && first == g.ask(1, "DEBUG", "DIGEST").Str && first == g.ask(2, "DEBUG", "DIGEST").Str
	})
	t.Logf("%d numbers and %d tokens were acknowledged", acked(), len(list.Elems))
}
