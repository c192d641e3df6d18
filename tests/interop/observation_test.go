package interop

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
)

// observation is what can be seen after a step.
type observation struct {
	// reply is what the answer means: got, refused, queued, released, kept, not held, renewed, not renewed,
	// forced, free, left, deleted, or "-" without a question.
	reply string
	// lock is the key: its type, and its fields but the native one.
	lock string
	// leaseMS is what is left of the lease, to the next full second; unleased: it is
	// renewed, or there is none.
	leaseMS int64
	watched bool
	// token is the value of RFencedLock's key; 0: there is none.
	token int64
	// published are the messages that came, "channel message" each.
	published []string
	// grants are the waiters that got the lock after the step, waiting those that still stand in line.
	grants, waiting []string
}

// toleranceMS is how far two leases may be apart that are meant to be the same: the
// step that looks comes later.
const toleranceMS = 2_000

// String is the observation as the golden file has it.
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

// look reads the lock and the token's key.
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

// heard returns the messages that an ear has got, and what reached it before mark did, which is published
// last. Messages to waiters for an RReadWriteLock are left out, because these scripts do not know it.
func heard(t *testing.T, c, ear *testkit.Client, mark string) (messages []string) {
	t.Helper()
	require.Positive(t, c.Do("PUBLISH", "marks", mark).Int)
	for {
		v := ear.Receive().Elems // pmessage, pattern, channel, message
		require.Len(t, v, 4)
		if v[3].Str == mark {
			return messages
		}
		if !strings.HasPrefix(v[2].Str, "redisson_rwlock:") {
			messages = append(messages, v[2].Str+" "+v[3].Str)
		}
	}
}

// comparison is what has to be known of the steps before.
type comparison struct {
	kind kind
	// bare: the scripts have taken the lock, so that its holder has no native token yet.
	bare bool
	// doubt: a hold was given back while others remain. Redisson starts the lease anew then,
	// with the length that this client used last; the native command does not touch it. Until
	// the next lease begins they differ.
	doubt bool
	// token is the value of the token's key after the step before, natively.
	token int64
}

// compare requires that native is what the scripts left, want, after st. Four things differ on purpose: the
// lease after a hold was given back (see doubt), and the token of a re-entry. Redisson does not announce a
// spin lock's release. It announces a fair lock's to the next in the queue only, by a channel of its own.
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

// compareToken: RFencedLock counts re-entries, too; a native token belongs to the holder,
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

// soon bounds how long a test waits for what must happen.
const soon = time.Minute
