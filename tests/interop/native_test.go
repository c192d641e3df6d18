package interop

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/config"
	"lockserver/internal/resp"
	"lockserver/server"
	"lockserver/tests/testkit"
)

// native plays steps by the native commands. Each owner has its own connection.
type native struct {
	*testkit.Client // for steps without an owner

	t       *testing.T
	ear     *testkit.Client // subscribed to everything
	marks   int
	clock   *server.ManualClock
	dial    func() (net.Conn, error)
	owners  map[string]*testkit.Client
	ids     map[string]string
	waiting []string
}

// startNative starts a server with a clock at now. If dir is not empty, the server loads a snapshot there and
// saves its own.
func startNative(t *testing.T, dir string, now time.Time) *native {
	t.Helper()
	now = now.Truncate(time.Millisecond) // within a millisecond the end of a lease would be rounded up
	n := &native{t: t, clock: server.NewManualClock(now), owners: map[string]*testkit.Client{}, ids: map[string]string{}}
	c := config.Default()
	c.Port, c.Save, c.DBFilename = 0, nil, ""
	if dir != "" {
		c.Dir, c.DBFilename = dir, "dump.rdb"
	}
	srv, err := server.New(server.Options{Directives: c.Directives(), Clock: n.clock})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	require.NoError(t, srv.Start())
	n.dial = srv.Dial
	n.Client, n.ear = testkit.Dial(t, srv.Dial), testkit.Dial(t, srv.Dial)
	n.ear.Do("PSUBSCRIBE", "*")
	return n
}

func (n *native) owner(name string) *testkit.Client {
	n.t.Helper()
	c := n.owners[name]
	if c == nil {
		c = testkit.Dial(n.t, n.dial)
		n.owners[name], n.ids[name] = c, strconv.FormatInt(c.Do("CLIENT", "ID").Int, 10)
	}
	return c
}

// asker returns the connection for commands that work on any connection: the owner's, unless it waits.
func (n *native) asker(owner string) *testkit.Client {
	n.t.Helper()
	if slices.Contains(n.waiting, owner) {
		return n.Client
	}
	return n.owner(owner)
}

// do plays a step and returns the observation after it.
func (n *native) do(st step) observation {
	n.t.Helper()
	o := observation{reply: n.play(st)}
	n.waiting = slices.DeleteFunc(n.waiting, func(owner string) bool {
		if n.blocked(owner) {
			return false
		}
		v := n.owners[owner].Receive()
		require.Equal(n.t, resp.Integer, v.Kind, "%s: %s", owner, v)
		o.grants = append(o.grants, owner)
		return true
	})
	if len(n.waiting) > 0 {
		o.waiting = slices.Clone(n.waiting)
	}
	look(n.t, n.Client, &o)
	n.inform(o)
	n.marks++
	o.published = heard(n.t, n.Client, n.ear, "mark "+strconv.Itoa(n.marks))
	return o
}

// inform requires that LOCK.INFO agrees with the key.
func (n *native) inform(o observation) {
	n.t.Helper()
	info := n.Do("LOCK.INFO", key)
	if o.lock == "none" {
		require.True(n.t, info.IsNull(), "%s", info)
		return
	}
	facts := map[string]resp.Value{}
	for i := 0; i+1 < len(info.Elems); i += 2 {
		facts[info.Elems[i].Str] = info.Elems[i+1]
	}
	require.Equal(n.t, o.lock, fmt.Sprintf("hash %s=%d", facts["owner"].Str, facts["holds"].Int))
	require.EqualValues(n.t, n.Do("PTTL", key).Int, facts["ttl"].Int)
	token := ""
	if facts["token"].Kind == resp.Integer {
		token = strconv.FormatInt(facts["token"].Int, 10)
	}
	require.Equal(n.t, n.Do("HGET", key, "$token").Str, token)
	var waiting []string
	for _, w := range facts["waiters"].Elems {
		require.Equal(n.t, "owner", w.Elems[0].Str)
		waiting = append(waiting, w.Elems[1].Str)
	}
	require.Equal(n.t, o.waiting, waiting)
}

// play plays a step and returns the meaning of its reply.
func (n *native) play(st step) string {
	n.t.Helper()
	ms := strconv.FormatInt(st.ms, 10)
	switch st.verb {
	case "acquire":
		return n.acquired(n.owner(st.owner).Do("LOCK", key, st.owner, "PX", ms))
	case "watch":
		return n.acquired(n.owner(st.owner).Do("LOCK", key, st.owner))
	case "wait":
		n.owner(st.owner).Send("LOCK", key, st.owner, "PX", ms, "WAIT", "0")
		return n.waited(st.owner)
	case "leave":
		require.EqualValues(n.t, 1, n.Do("CLIENT", "UNBLOCK", n.ids[st.owner]).Int)
		require.True(n.t, n.owners[st.owner].Receive().IsNull())
		n.waiting = slices.DeleteFunc(n.waiting, func(w string) bool { return w == st.owner })
		return "left"
	case "release":
		return meaning(n.t, n.asker(st.owner).Do("UNLOCK", key, st.owner), "not held", "kept", "released")
	case "renew":
		return meaning(n.t, n.asker(st.owner).Do("RENEW", key, st.owner, "PX", ms), "", "not renewed", "renewed")
	case "force":
		return meaning(n.t, n.Do("LOCK.FORCE", key), "", "free", "forced")
	case "delete":
		n.Do("DEL", key)
		return "deleted"
	case "elapse":
		n.clock.Advance(time.Duration(st.ms) * time.Millisecond)
		return "-"
	}
	require.Fail(n.t, "no such step", st.verb)
	return ""
}

func (n *native) acquired(v resp.Value) string {
	n.t.Helper()
	if v.IsNull() {
		return "refused"
	}
	require.Equal(n.t, resp.Integer, v.Kind, "%s", v)
	require.Positive(n.t, v.Int)
	return "got"
}

// waited waits until the owner has a reply or is parked.
func (n *native) waited(owner string) string {
	n.t.Helper()
	for end := time.Now().Add(soon); time.Now().Before(end); {
		if v, ok := n.owners[owner].ReceiveWithin(time.Millisecond); ok {
			return n.acquired(v)
		}
		if n.blocked(owner) {
			n.waiting = append(n.waiting, owner)
			return "queued"
		}
	}
	require.Fail(n.t, "neither answered nor parked", owner)
	return ""
}

// blocked reports whether an owner's connection is parked. If it is not, it has its reply, because the grant
// is made in the unit that frees the lock.
func (n *native) blocked(owner string) bool {
	n.t.Helper()
	_, flags, found := strings.Cut(n.Do("CLIENT", "LIST", "ID", n.ids[owner]).Str, " flags=")
	require.True(n.t, found)
	return strings.HasPrefix(flags, "b")
}

// meaning returns null, zero or one for the replies nil, 0 and 1.
func meaning(t *testing.T, v resp.Value, null, zero, one string) string {
	t.Helper()
	switch {
	case v.IsNull() && null != "":
		return null
	case v.Kind == resp.Integer && v.Int == 0:
		return zero
	case v.Kind == resp.Integer && v.Int == 1:
		return one
	}
	require.Fail(t, "an answer of no meaning", "%s", v)
	return ""
}
