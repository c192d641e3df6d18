package client_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/client"
	"lockserver/internal/keyslot"
	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// movingShards are two ways to one server, as two shards. Each way answers MOVED for the slots of the other,
// so a slot moves with all that is in it.
type movingShards struct {
	to *network

	mu        sync.Mutex
	elsewhere map[int]bool // slots that the other shard has
	nowhere   map[int]bool // slots for which each shard names the other one
	unserved  string       // their answer for these slots, in place of MOVED; empty: it is MOVED
	counted   string       // the command with a limited number of these answers; empty: no limit
	answers   int          // the number of answers before the slots are served
	shut      [2]bool      // shards that are gone
	conns     map[*movingConn]bool
	asked     []string // the commands that were redirected, and their keys
}

// movingConn is a connection to a shard.
type movingConn struct {
	of             *movingShards
	shard          int
	client, server net.Conn
	attached       bool          // guarded by mu of the shards
	out            chan []byte   // to the client; a test never fills it
	over           chan struct{} // closed at its end
	mu             sync.Mutex
	answers        []string // of this way; empty: the server's, in the order of the commands
}

var movingAddrs = [2]string{"192.0.2.1:7000", "192.0.2.1:7001"}

func (m *movingShards) owner(slot int) int {
	owner := slot * 2 / keyslot.Count
	if m.elsewhere[slot] {
		return 1 - owner
	}
	return owner
}

// dial is the dialer of the library.
func (m *movingShards) dial(addr string) (net.Conn, error) {
	shard := 0
	if addr == movingAddrs[1] {
		shard = 1
	}
	m.mu.Lock()
	gone := m.shut[shard]
	m.mu.Unlock()
	if gone {
		return nil, fmt.Errorf("there is no server at %s", addr)
	}
	server, err := m.to.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	c := &movingConn{of: m, shard: shard, client: ours, server: server, out: make(chan []byte, 1<<12), over: make(chan struct{})}
	m.mu.Lock()
	m.conns[c] = true
	m.mu.Unlock()
	for _, work := range []func() error{c.commands, c.replies, c.write} {
		go func() {
			_ = work()
			c.end()
		}()
	}
	return theirs, nil
}

func (c *movingConn) end() {
	_ = c.client.Close()
	_ = c.server.Close()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.of.conns[c] {
		delete(c.of.conns, c)
		close(c.over)
	}
}

func (c *movingConn) commands() error {
	for in := bufio.NewReader(c.client); ; {
		raw, words, err := frame(in)
		if err != nil {
			return err
		}
		answer := c.answer(words)
		c.mu.Lock()
		c.answers = append(c.answers, answer)
		c.flush()
		c.mu.Unlock()
		if answer == "" {
			if _, err = c.server.Write(raw); err != nil {
				return err
			}
		}
	}
}

// answer returns the answer of the way to a command; empty: the server answers it.
func (c *movingConn) answer(words resp.Value) string {
	m := c.of
	m.mu.Lock()
	defer m.mu.Unlock()
	name, at := strings.ToUpper(words.Elems[0].Str), 1
	switch name {
	case "LOCK.ATTACH":
		c.attached = true
		return ""
	case "HELLO", "PING", "CONFIG", "CLIENT", "COMMAND", "READONLY":
		return ""
	case "MLOCK", "MUNLOCK":
		at = 2
	}
	key := words.Elems[at].Str
	slot := keyslot.Of([]byte(key))
	if m.owner(slot) == c.shard && !m.nowhere[slot] {
		return ""
	}
	m.asked = append(m.asked, name+" "+key)
	between := m.nowhere[slot]
	if name == m.counted {
		if m.answers--; m.answers == 0 {
			m.counted = ""
			clear(m.nowhere)
		}
	}
	if between && m.unserved != "" {
		return "-" + m.unserved + "\r\n"
	}
	return fmt.Sprintf("-MOVED %d %s\r\n", slot, movingAddrs[1-c.shard])
}

// flush sends the answers of the way that are next; the caller holds mu.
func (c *movingConn) flush() {
	for len(c.answers) > 0 && c.answers[0] != "" {
		c.out <- []byte(c.answers[0])
		c.answers = c.answers[1:]
	}
}

// write sends to the client.
func (c *movingConn) write() error {
	for {
		select {
		case bytes := <-c.out:
			if _, err := c.client.Write(bytes); err != nil {
				return err
			}
		case <-c.over:
			return nil
		}
	}
}

func (c *movingConn) replies() error {
	for in := bufio.NewReader(c.server); ; {
		raw, reply, err := frame(in)
		if err != nil {
			return err
		}
		isPush := raw[0] == '>'
		if isPush && !c.concerns(reply.Elems[1]) {
			continue
		}
		c.mu.Lock()
		c.out <- raw
		if !isPush {
			c.answers = c.answers[1:]
			c.flush()
		}
		c.mu.Unlock()
	}
}

// concerns reports whether a push with these keys is one of the shard's.
func (c *movingConn) concerns(keys resp.Value) bool {
	if len(keys.Elems) > 0 {
		keys = keys.Elems[0]
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.of.owner(keyslot.Of([]byte(keys.Str))) == c.shard
}

// move moves the slot of a key to the other shard. The former one ends the connections that are attached.
func (m *movingShards) move(key string) {
	slot := keyslot.Of([]byte(key))
	m.mu.Lock()
	former := m.owner(slot)
	m.elsewhere[slot] = !m.elsewhere[slot]
	m.asked = nil
	m.mu.Unlock()
	m.breakConns(func(c *movingConn) bool { return c.shard == former && c.attached })
}

// breakConns ends connections.
func (m *movingShards) breakConns(which func(c *movingConn) bool) {
	m.mu.Lock()
	var broken []*movingConn
	for c := range m.conns {
		if which(c) {
			broken = append(broken, c)
		}
	}
	m.mu.Unlock()
	for _, c := range broken {
		c.end()
	}
}

// attached returns how many connections to a shard are attached.
func (m *movingShards) attached(shard int) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.conns {
		if c.shard == shard && c.attached {
			n++
		}
	}
	return n
}

// redirected returns the redirections since the last move.
func (m *movingShards) redirected() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.asked...)
}

// frame reads a value, and returns its bytes as well.
func frame(in *bufio.Reader) (raw []byte, v resp.Value, err error) {
	for left := 1; left > 0; left-- {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, v, err
		}
		raw = append(raw, line...)
		n, _ := strconv.Atoi(strings.TrimSpace(string(line[1:])))
		switch {
		case n < 0:
		case strings.IndexByte("$=!", line[0]) >= 0:
			text := make([]byte, n+2)
			if _, err = io.ReadFull(in, text); err != nil {
				return nil, v, err
			}
			raw = append(raw, text...)
		case strings.IndexByte("*~>", line[0]) >= 0:
			left += n
		case line[0] == '%':
			left += 2 * n
		}
	}
	v, err = resp.ReadValue(bufio.NewReader(bytes.NewReader(raw)))
	return raw, v, err
}

// overMovingShards runs a test with two shards, in a bubble.
func overMovingShards(t *testing.T, test func(t *testing.T, m *movingShards, c *client.Client, op *testkit.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what Close has left is tried once more
		srv, way := start(t, lease)
		m := &movingShards{to: way, elsewhere: make(map[int]bool), nowhere: make(map[int]bool), conns: make(map[*movingConn]bool)}
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: movingAddrs[:], ClusterStateReloadInterval: time.Second,
			Dialer:       func(_ context.Context, _, addr string) (net.Conn, error) { return m.dial(addr) },
			ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) { return m.slots(), nil }})
		t.Cleanup(func() { _ = rdb.Close() })
		c, err := client.NewCluster(rdb)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		time.Sleep(time.Minute) // go-redis holds a mutex while it asks for the list of commands
		test(t, m, c, operator(t, srv))
	})
}

// slots is the map of the cluster.
func (m *movingShards) slots() (slots []redis.ClusterSlot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for slot := range keyslot.Count {
		addr := movingAddrs[m.owner(slot)]
		if last := len(slots) - 1; last >= 0 && slots[last].Nodes[0].Addr == addr {
			slots[last].End = slot
		} else {
			slots = append(slots, redis.ClusterSlot{Start: slot, End: slot, Nodes: []redis.ClusterNode{{Addr: addr}}})
		}
	}
	return slots
}

// keyAt returns a key of one of the two shards that begins with these words, in none of the slots of others.
func keyAt(shard int, words string, others ...string) string {
	for n := 0; ; n++ {
		key := words + strconv.Itoa(n)
		slot := keyslot.Of([]byte(key))
		if slot*2/keyslot.Count == shard && !slices.ContainsFunc(others, func(other string) bool { return keyslot.Of([]byte(other)) == slot }) {
			return key
		}
	}
}

// TestSlotMoves: a slot moves to another shard, back, and to the other shard again, which was used before or
// not. Its locks and waits move with it, and no loss is reported. A lock of another slot stays. In the end
// the former shard is down, and the server renews the locks by the connection to the other shard.
func TestSlotMoves(t *testing.T) {
	for _, used := range []bool{true, false} {
		t.Run(fmt.Sprint("used before: ", used), func(t *testing.T) {
			overMovingShards(t, func(t *testing.T, m *movingShards, c *client.Client, op *testkit.Client) {
				key := keyAt(0, "moved")
				other, taken, sem := keyAt(0, "kept", key), "{"+key+"}taken", "{"+key+"}permits"
				if used {
					far, err := c.Lock(ctx, keyAt(1, "far"))
					require.NoError(t, err)
					require.NoError(t, far.Unlock(ctx))
				}
				lock := func(l *client.Lock, err error) *client.Lock {
					require.NoError(t, err)
					return l
				}
				kept := lock(c.Lock(ctx, other))
				locks := []*client.Lock{lock(c.Lock(ctx, key)), lock(c.Lock(ctx, "{"+key+"}fixed", client.Lease(time.Hour))),
					lock(c.MLock(ctx, []string{"{" + key + "}a", "{" + key + "}b"}))}
				permit, err := c.Semaphore(sem, 3).Acquire(ctx)
				require.NoError(t, err)
				op.Do("LOCK", taken, "another", "PX", "3600000")
				later := lockLater(ctx, c, taken)
				latch := c.Latch("{" + key + "}latch")
				_, err = latch.Set(ctx, 1)
				require.NoError(t, err)
				opened := make(chan error, 1)
				go func() { opened <- latch.Wait(ctx) }()
				synctest.Wait()
				for _, to := range []int{1, 0, 1} {
					m.move(key)
					time.Sleep(2 * lease)
					require.Equal(t, [2]int{1, 1}, [2]int{m.attached(0), m.attached(1)}, "moved to ", to)
					for _, l := range append(locks, kept) {
						require.NoError(t, l.Context().Err())
					}
					require.NoError(t, permit.Context().Err())
					for _, l := range []*client.Lock{locks[0], locks[1], kept} {
						reply, err := l.Guard(ctx, "EXISTS", "{"+key+"}none")
						if l == kept {
							reply, err = l.Guard(ctx, "EXISTS", "{"+other+"}none")
						}
						require.NoError(t, err)
						require.Equal(t, int64(0), reply)
					}
					for _, asked := range m.redirected() {
						require.Contains(t, asked, key, "the other lock stays")
					}
				}
				again := lock(c.Lock(ctx, "{"+key+"}again"))
				require.NoError(t, again.Unlock(ctx))
				op.Do("UNLOCK", taken, "another")
				next := <-later
				require.NoError(t, next.err)
				require.NoError(t, next.Unlock(ctx))
				_, err = latch.Down(ctx)
				require.NoError(t, err)
				require.NoError(t, <-opened)
				require.NoError(t, kept.Unlock(ctx))
				m.mu.Lock()
				m.shut[0], m.asked = true, nil
				m.mu.Unlock()
				m.breakConns(func(c *movingConn) bool { return c.shard == 0 })
				time.Sleep(10 * lease)
				for _, l := range locks {
					require.NoError(t, l.Context().Err())
					require.NoError(t, l.Unlock(ctx))
				}
				require.NoError(t, permit.Context().Err())
				require.NoError(t, permit.Release(ctx))
				again = lock(c.Lock(ctx, "{"+key+"}again"))
				require.NoError(t, again.Unlock(ctx))
				require.Empty(t, m.redirected())
				require.Zero(t, len(op.Do("LOCK.LIST").Elems))
			})
		})
	}
}

// TestSlotThatNoShardServesYet: each shard redirects to the other for a while, as between give and take of a
// move. The lock is kept, the wait goes on, and the client sends few commands meanwhile.
func TestSlotThatNoShardServesYet(t *testing.T) {
	overMovingShards(t, func(t *testing.T, m *movingShards, c *client.Client, op *testkit.Client) {
		key := keyAt(0, "moved")
		other, taken := keyAt(0, "kept", key), "{"+key+"}taken"
		kept, err := c.Lock(ctx, other)
		require.NoError(t, err)
		l, err := c.Lock(ctx, key)
		require.NoError(t, err)
		op.Do("LOCK", taken, "another", "PX", "3600000")
		later := lockLater(ctx, c, taken)
		synctest.Wait()
		m.mu.Lock()
		m.nowhere[keyslot.Of([]byte(key))] = true
		m.mu.Unlock()
		m.move(key)
		time.Sleep(time.Second)
		require.Less(t, len(m.redirected()), 60)
		m.mu.Lock()
		clear(m.nowhere)
		m.mu.Unlock()
		time.Sleep(3 * lease)
		require.NoError(t, l.Context().Err())
		require.NoError(t, kept.Context().Err())
		op.Do("UNLOCK", taken, "another")
		next := <-later
		require.NoError(t, next.err)
		require.NoError(t, next.Unlock(ctx))
		require.NoError(t, l.Unlock(ctx))
		require.NoError(t, kept.Unlock(ctx))
		require.Zero(t, len(op.Do("LOCK.LIST").Elems))
	})
}

// bounce has no shard serve the slot of a key, until a command has had a number of answers.
func (m *movingShards) bounce(key, unserved, counted string, answers int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked, m.unserved, m.counted, m.answers = nil, unserved, counted, answers
	m.nowhere[keyslot.Of([]byte(key))] = true
}

// open returns the connections.
func (m *movingShards) open() map[*movingConn]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.conns)
}

// TestCallsGoOnUntilASlotIsServed: the two shards redirect to each other for 30 answers to a call, or say
// that no shard serves the slot. The call succeeds. It waits between its redirections, and so do the checks
// of the locks in the slot. The connections stay, and the locks are kept.
func TestCallsGoOnUntilASlotIsServed(t *testing.T) {
	for _, unserved := range []string{"", "CLUSTERDOWN Hash slot not served"} {
		t.Run(unserved, func(t *testing.T) {
			overMovingShards(t, func(t *testing.T, m *movingShards, c *client.Client, op *testkit.Client) {
				key := keyAt(0, "moved")
				held, err := c.Lock(ctx, key)
				require.NoError(t, err)
				fixed, err := c.Lock(ctx, "{"+key+"}fixed", client.Lease(time.Hour))
				require.NoError(t, err)
				far, err := c.Lock(ctx, keyAt(1, "far"))
				require.NoError(t, err)
				latch := c.Latch("{" + key + "}latch")
				_, err = latch.Set(ctx, 3)
				require.NoError(t, err)
				var next *client.Lock
				for _, call := range []struct {
					name string
					run  func() error
				}{
					{"GUARD", func() error { _, err := held.Guard(ctx, "EXISTS", key); return err }},
					{"LOCK.INFO", func() error { _, _, err := c.Info(ctx, key); return err }},
					{"LATCH.DOWN", func() error { _, err := latch.Down(ctx); return err }},
					{"LOCK", func() error { next, err = c.Lock(ctx, "{"+key+"}next"); return err }},
					{"UNLOCK", func() error { return next.Unlock(ctx) }},
				} {
					before, began := m.open(), time.Now()
					m.bounce(key, unserved, call.name, 30)
					require.NoError(t, call.run(), call.name)
					took := time.Since(began)
					time.Sleep(2 * lease)
					asked := m.redirected()
					require.GreaterOrEqual(t, len(asked), 30, call.name)
					require.Less(t, len(asked), 150, call.name) // of the call, and of two or three locks
					require.Greater(t, took, 100*time.Millisecond, "%s did not wait: %v", call.name, asked)
					require.Subset(t, m.open(), before, call.name)
					for _, l := range []*client.Lock{held, fixed, far} {
						require.NoError(t, l.Context().Err(), call.name)
					}
				}
				for _, l := range []*client.Lock{held, fixed, far} {
					require.NoError(t, l.Unlock(ctx))
				}
				require.Zero(t, len(op.Do("LOCK.LIST").Elems))
			})
		})
	}
}
