package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestAttachModel compares random commands of owners with ONCE, of connections that attach, detach and break,
// and a clock that moves, with a model. No lock is held twice, and none is lost while a connection keeps it.
// Each loss is reported once to each attached connection.
func TestAttachModel(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	m := &attachModel{t: t, clock: NewManualClock(time.UnixMilli(1_750_000_000_000)), locks: map[string]*modelLock{}, rand: rand.New(rand.NewPCG(seed, 0))}
	m.srv = startWith(t, Options{Clock: m.clock}, nil)
	m.looks = testkit.Dial(t, m.srv.Dial)
	for range 5 {
		m.conns = append(m.conns, m.connect())
	}
	for range testkit.Steps(1000, 3000) {
		m.step()
		m.check()
	}
}

type attachModel struct {
	t     *testing.T
	rand  *rand.Rand
	clock *ManualClock
	srv   *instance
	looks *testkit.Client
	conns []*modelConn
	locks map[string]*modelLock
	last  string // the step
}

type modelConn struct {
	*testkit.Client
	owners   []string // that it is attached to
	prefixes []string // of owners
	expected []string // what it is to hear, in any order
}

type modelLock struct {
	owner        string
	token, holds int64
	watched      bool
	by           *modelConn // who acquired it; nil: it has gone
	endMS        int64      // 0: it is renewed
}

// keeps reports whether a connection keeps an owner alive. byPrefix: by a prefix.
func (c *modelConn) keeps(owner string) (yes, byPrefix bool) {
	byPrefix = slices.ContainsFunc(c.prefixes, func(p string) bool { return strings.HasPrefix(owner, p) })
	return byPrefix || slices.Contains(c.owners, owner), byPrefix
}

func (m *attachModel) connect() *modelConn {
	c := &modelConn{Client: testkit.Dial(m.t, m.srv.Dial)}
	c.Hello(3)
	return c
}

func (m *attachModel) nowMS() int64 { return m.clock.NowUS() / 1000 }

// do runs a command and returns its reply; pushes to the client come before or behind it.
func (m *attachModel) do(c *modelConn, args ...string) resp.Value {
	c.Send(args...)
	for {
		v := c.Receive()
		if v.Kind != resp.Push {
			return v
		}
		m.hear(c, v)
	}
}

func (m *attachModel) hear(c *modelConn, v resp.Value) {
	i := slices.Index(c.expected, v.String())
	require.GreaterOrEqual(m.t, i, 0, "%s: got %s instead of %v", m.last, v, c.expected)
	c.expected = slices.Delete(c.expected, i, i+1)
}

func (m *attachModel) lose(key, reason string) {
	l := m.locks[key]
	delete(m.locks, key)
	if reason != "" {
		m.expect(l, "lock-lost", key, reason)
	}
}

// expect expects a message about a lock, and returns the number of connections that are to get it.
func (m *attachModel) expect(l *modelLock, word, key, text string) (heard int) {
	for _, c := range m.conns {
		switch yes, byPrefix := c.keeps(l.owner); {
		case !yes:
			continue
		case byPrefix:
			c.expected = append(c.expected, fmt.Sprintf(`>[%q %q %d %q %q]`, word, key, l.token, text, l.owner))
		default:
			c.expected = append(c.expected, fmt.Sprintf(`>[%q %q %d %q]`, word, key, l.token, text))
		}
		heard++
	}
	return heard
}

// ask is a LOCK.ASK: each connection that keeps the holder hears it once, with the token of the moment.
func (m *attachModel) ask(c *modelConn, key string) {
	reason := strconv.Itoa(m.rand.IntN(100))
	m.last = "LOCK.ASK " + key + " REASON " + reason
	heard := 0
	if l := m.locks[key]; l != nil {
		heard = m.expect(l, "lock-asked", key, reason)
	}
	require.EqualValues(m.t, heard, m.do(c, "LOCK.ASK", key, "REASON", reason).Int, m.last)
}

// Brings the ends of leases up to date when a connection that keeps locks comes or goes.
func (m *attachModel) update() {
	for key, l := range m.locks {
		lives := l.by != nil || slices.ContainsFunc(m.conns, func(c *modelConn) bool {
			yes, _ := c.keeps(l.owner)
			return yes
		})
		switch {
		case l.watched && lives:
			l.endMS = 0
		case l.watched && l.endMS == 0: // the server alone knows when it was renewed
			left := m.looks.Do("PTTL", key).Int
			require.Greater(m.t, left, int64(0), m.last)
			require.LessOrEqual(m.t, left, int64(30_000), m.last)
			l.endMS = m.nowMS() + left
		}
	}
}

func (m *attachModel) step() {
	c, key, owner := m.conns[m.rand.IntN(len(m.conns))], "k"+strconv.Itoa(m.rand.IntN(4)), "owners:"+strconv.Itoa(m.rand.IntN(2))+strconv.Itoa(m.rand.IntN(2))
	l := m.locks[key]
	switch n := m.rand.IntN(100); {
	case n < 20:
		m.lock(c, key, owner)
	case n < 26:
		m.last = fmt.Sprint("UNLOCK ", key, " ", owner)
		v := m.do(c, "UNLOCK", key, owner)
		if l == nil || l.owner != owner {
			require.True(m.t, v.IsNull(), m.last)
		} else if l.holds--; l.holds == 0 {
			m.lose(key, "")
			require.EqualValues(m.t, 1, v.Int, m.last)
		}
	case n < 29:
		word := []string{"LOCK.FORCE", "DEL", "UNLINK"}[m.rand.IntN(3)]
		m.last = word + " " + key
		if l != nil {
			m.lose(key, map[string]string{"LOCK.FORCE": "forced"}[word]+map[bool]string{true: "deleted"}[word != "LOCK.FORCE"])
		}
		require.EqualValues(m.t, map[bool]int64{true: 1}[l != nil], m.do(c, word, key).Int, m.last)
	case n < 34:
		m.ask(c, key)
	case n < 45:
		m.last = "LOCK.ATTACH " + owner
		if !slices.Contains(c.owners, owner) {
			c.owners = append(c.owners, owner)
		}
		require.EqualValues(m.t, m.held(owner), m.do(c, "LOCK.ATTACH", owner).Int, m.last)
	case n < 50:
		m.last = "LOCK.DETACH " + owner
		c.owners = slices.DeleteFunc(c.owners, func(o string) bool { return o == owner })
		require.EqualValues(m.t, m.held(owner), m.do(c, "LOCK.DETACH", owner).Int, m.last)
	case n < 56:
		prefix := owner[:8+m.rand.IntN(2)]
		m.last = "LOCK.ATTACH PREFIX " + prefix
		if !slices.Contains(c.prefixes, prefix) {
			c.prefixes = append(c.prefixes, prefix)
		}
		require.EqualValues(m.t, m.held(prefix), m.do(c, "LOCK.ATTACH", "PREFIX", prefix).Int, m.last)
	case n < 60:
		prefix := owner[:8+m.rand.IntN(2)]
		m.last = "LOCK.DETACH PREFIX " + prefix
		c.prefixes = slices.DeleteFunc(c.prefixes, func(p string) bool { return p == prefix })
		v := m.do(c, "LOCK.DETACH", "PREFIX", prefix)
		if v.Int != 0 || m.prefixed() {
			require.EqualValues(m.t, m.held(prefix), v.Int, m.last)
		}
	case n < 67:
		m.last = "close"
		m.check()
		before := m.srv.connected()
		c.Close()
		eventually(m.t, func() bool { return m.srv.connected() < before }, "it has gone")
		for _, l := range m.locks {
			if l.by == c {
				l.by = nil
			}
		}
		m.conns[slices.Index(m.conns, c)] = m.connect()
	default:
		by := time.Duration(1+m.rand.IntN(9_000)) * time.Millisecond
		m.last = fmt.Sprint("+", by)
		m.clock.Advance(by)
		for key, l := range m.locks {
			if l.endMS != 0 && l.endMS <= m.nowMS() {
				m.lose(key, "expired")
			}
		}
	}
	m.update()
}

// prefixed reports whether a connection is attached to a prefix.
func (m *attachModel) prefixed() bool {
	return slices.ContainsFunc(m.conns, func(c *modelConn) bool { return len(c.prefixes) > 0 })
}

// held is the number of locks that the owners hold that begin with a text.
func (m *attachModel) held(text string) (n int) {
	for _, l := range m.locks {
		if strings.HasPrefix(l.owner, text) {
			n++
		}
	}
	return n
}

// lock is a LOCK with or without a lease and ONCE; with ONCE it is sometimes sent over two connections.
func (m *attachModel) lock(c *modelConn, key, owner string) {
	args, watched, once := []string{"LOCK", key, owner}, m.rand.IntN(3) > 0, m.rand.IntN(2) == 0
	if !watched {
		args = append(args, "PX", "12000")
	}
	times := 1
	if once {
		args = append(args, "ONCE")
		times += m.rand.IntN(2)
	}
	m.last = fmt.Sprint(args, " times ", times)
	for range times {
		v, l := m.do(c, args...), m.locks[key]
		switch {
		case l != nil && l.owner != owner:
			require.True(m.t, v.IsNull(), m.last)
			return
		case l == nil:
			l = &modelLock{owner: owner, token: v.Int, holds: 1}
			m.locks[key] = l
		case !once:
			l.holds++
		}
		require.Equal(m.t, l.token, v.Int, m.last)
		if l.watched, l.endMS, l.by = watched, 0, nil; watched {
			l.by = c
		} else {
			l.endMS = m.nowMS() + 12_000
		}
		c = m.conns[m.rand.IntN(len(m.conns))]
	}
}

// check compares the locks, and the pushes to all clients.
func (m *attachModel) check() {
	for i := range 4 {
		key := "k" + strconv.Itoa(i)
		l := m.locks[key]
		if l == nil {
			require.Zero(m.t, m.looks.Do("EXISTS", key).Int, "%s: %s", m.last, key)
			continue
		}
		require.Equal(m.t, strconv.FormatInt(l.holds, 10), m.looks.Do("HGET", key, l.owner).Str, "%s: %s", m.last, key)
		require.Equal(m.t, map[bool]int64{true: 3, false: 2}[l.watched], m.looks.Do("HLEN", key).Int, "%s: %s", m.last, key)
	}
	for _, c := range m.conns {
		m.do(c, "PING")
		require.Empty(m.t, c.expected, "%s: gets nothing", m.last)
	}
}
