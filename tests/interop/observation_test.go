package interop

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// observation holds everything that is visible after a step.
type observation struct {
	// reply is the meaning of the reply: got, refused, queued, released, kept, not held, renewed, not
	// renewed, forced, free, left, deleted, or "-" for a step without a reply.
	reply string
	// lock is the key: its type, and its fields without the native one.
	lock string
	// leaseMS is the rest of the lease, rounded up to seconds. unleased means that it is renewed, or that
	// there is no lock.
	leaseMS int64
	watched bool
	// token is the value of RFencedLock's key, or 0.
	token int64
	// published holds the received messages as "channel message".
	published []string
	// grants lists the waiters that got the lock after the step; waiting lists those that still wait.
	grants, waiting []string
}

// toleranceMS is the largest difference between leases that count as equal: reading takes time.
const toleranceMS = 2_000

// String returns the observation as it is in the golden file.
func (o observation) String() string {
	parts := []string{o.reply, o.lock}
	switch {
	case o.watched:
		parts = append(parts, "watched")
	case o.leaseMS != 0:
		parts = append(parts, fmt.Sprintf("%ds", o.leaseMS/1000))
	}
	if o.token != 0 {
		parts = append(parts, fmt.Sprintf("token %d", o.token))
	}
	for _, m := range o.published {
		parts = append(parts, "published "+m)
	}
	for _, owner := range o.grants {
		parts = append(parts, "granted "+owner)
	}
	if len(o.waiting) > 0 {
		parts = append(parts, "waiting "+strings.Join(o.waiting, " "))
	}
	return strings.Join(parts, "; ")
}

func parseObservation(t *testing.T, text string) observation {
	t.Helper()
	parts := strings.Split(text, "; ")
	require.GreaterOrEqual(t, len(parts), 2, text)
	o := observation{reply: parts[0], lock: parts[1]}
	for _, part := range parts[2:] {
		word, rest, _ := strings.Cut(part, " ")
		switch word {
		case "watched":
			o.watched = true
		case "token":
			o.token = number(t, rest)
		case "published":
			o.published = append(o.published, rest)
		case "granted":
			o.grants = append(o.grants, rest)
		case "waiting":
			o.waiting = strings.Fields(rest)
		default:
			o.leaseMS = number(t, strings.TrimSuffix(part, "s")) * 1000
		}
	}
	require.Equal(t, text, o.String())
	return o
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// look reads the lock and the key of the token.
func look(t *testing.T, c *testkit.Client, o *observation) {
	t.Helper()
	kind := c.Do("TYPE", key).Str
	o.lock = kind
	if kind == "hash" {
		fields := testkit.Normalise([]string{"HGETALL"}, c.Do("HGETALL", key)).Elems
		for i := 0; i < len(fields); i += 2 {
			if name := fields[i].Str; name != "$token" && name != "$watchdog" {
				o.lock += " " + fields[i].Str + "=" + fields[i+1].Str
			}
		}
	}
	if ttl := c.Do("PTTL", key).Int; ttl > 0 {
		o.leaseMS = (ttl + 999) / 1000 * 1000
	} else {
		require.EqualValues(t, -2, ttl, "every lock has a lease")
	}
	if v := c.Do("GET", tokenKey); !v.IsNull() {
		require.Equal(t, resp.Bulk, v.Kind, "%s", v)
		o.token = number(t, v.Str)
	}
}

// heard returns the messages that an ear has got before mark, which it publishes last. Messages to waiters
// for an RReadWriteLock are left out, because these scripts do not know it.
func heard(t *testing.T, c, ear *testkit.Client, mark string) (messages []string) {
	t.Helper()
	require.Positive(t, c.Do("PUBLISH", "marks", mark).Int)
	for {
		v := ear.Receive().Elems // the elements: pmessage, pattern, channel, message
		require.Len(t, v, 4)
		if v[3].Str == mark {
			return messages
		}
		if !strings.HasPrefix(v[2].Str, "redisson_rwlock:") {
			messages = append(messages, v[2].Str+" "+v[3].Str)
		}
	}
}

// comparison holds the state that depends on earlier steps.
type comparison struct {
	kind kind
	// bare means that the scripts have taken the lock, so that its holder has no native token yet.
	bare bool
	// doubt means that a hold was given back while others remain. Redisson then restarts the lease, with the
	// length that this client used last; the native command does not change it. They differ until the next
	// lease begins.
	doubt bool
	// token is the native value of the token's key after the previous step.
	token int64
}

// compare requires that native equals want, the observation of the scripts after st. Some differences are
// intended: the lease after a hold was given back (see doubt), and the token of a re-entry. Redisson does not
// announce a spin lock's release. It announces a fair lock's release only to the next waiter, on its own
// channel.
func (cmp *comparison) compare(t *testing.T, st step, want, native observation) {
	t.Helper()
	where := fmt.Sprintf("%s\nscripts: %s\nnative:  %s", st, want, native)
	require.Equal(t, want.reply, native.reply, where)
	require.Equal(t, want.lock, native.lock, where)
	require.Equal(t, want.grants, native.grants, where)
	require.Equal(t, want.waiting, native.waiting, where)
	switch {
	case want.reply == "kept":
		cmp.doubt = !want.watched
	case want.reply == "got" || want.reply == "renewed" || len(want.grants) > 0 || want.lock == "none":
		cmp.doubt = false
	}
	require.False(t, cmp.doubt && st.verb == "elapse", "%s: nobody knows what is left of the lease", st)
	switch {
	case want.watched:
		require.Greater(t, native.leaseMS, int64(watchdogMS-watchdogMS/3-toleranceMS), where)
		require.LessOrEqual(t, native.leaseMS, int64(watchdogMS), where)
	case !cmp.doubt:
		require.InDelta(t, want.leaseMS, native.leaseMS, toleranceMS, where)
	}
	cmp.compareToken(t, where, want, native)
	cmp.token = native.token
	if native.lock == "none" || want.reply == "got" {
		cmp.bare = false
	}
	var announced []string
	if want.reply == "released" || want.reply == "forced" {
		announced = []string{channel + " 0"}
	}
	require.Equal(t, announced, native.published, where)
	if cmp.kind == rlock || cmp.kind == fenced {
		require.Equal(t, announced, want.published, where)
	}
}

// compareToken compares the tokens. RFencedLock also counts re-entries. A native token belongs to the holder
// from its first hold to its last.
func (cmp *comparison) compareToken(t *testing.T, where string, want, native observation) {
	t.Helper()
	switch {
	case cmp.kind != fenced:
		require.Zero(t, native.token, where)
	case want.reply == "got" && (cmp.bare || strings.HasSuffix(want.lock, "=1")):
		require.Greater(t, native.token, cmp.token, where)
	default:
		require.Equal(t, cmp.token, native.token, where)
	}
}

// soon is the longest time that a test waits for an event.
const soon = time.Minute
