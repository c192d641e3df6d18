package server

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/server/transport"
	"lockserver/server/wait"
	"lockserver/tests/testkit"
)

// TestReadersDoNotStarveWriters: 128 readers come again as soon as they have left, and there are 8 writers. A
// writer waits only for clients that held the lock, or were in its queue, when it came.
func TestReadersDoNotStarveWriters(t *testing.T) {
	t.Parallel()
	const readers, writers, steps = 128, 8, 4000
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, nil)
	var scratch batch
	type one struct {
		s            *session
		out          *recorder
		waits, holds bool
		came         int // when it began to wait
	}
	all := make([]*one, readers+writers)
	for i := range all {
		o := &one{out: &recorder{}}
		o.s, _ = srv.executor.open(o.out, transport.Peer{Local: &net.UnixAddr{Net: "unix"}, Remote: &net.UnixAddr{Net: "unix"}})
		require.NotNil(t, o.s)
		all[i] = o
	}
	heard := func(o *one) (resp.Value, bool) {
		o.s.Feed(nil, &scratch, nil)
		if o.out.sent.Len() == 0 {
			return resp.Value{}, false
		}
		v, err := resp.ReadValue(bufio.NewReader(bytes.NewReader(o.out.sent.Bytes())))
		require.NoError(t, err)
		o.out.sent.Reset()
		return v, true
	}
	entered := 0
	granted := func(i int) {
		o := all[i]
		for j, other := range all {
			writes := i >= readers || j >= readers
			require.False(t, j != i && other.holds && writes, "%d was granted while %d held it", i, j)
			// A client that came later, and is not a neighbour in its group, must not have been let in
			// before.
			if other.waits && other.came < o.came && !(i < readers && j < readers) {
				require.Fail(t, "barged in", "%d passed %d", i, j)
			}
		}
		o.waits, o.holds = false, true
		entered++
	}
	for step := range steps {
		i := random.IntN(len(all))
		o := all[i]
		switch {
		case o.waits:
			continue
		case o.holds:
			o.holds = false
			o.s.Feed(appendCommand(nil, "UNLOCK", "k", fmt.Sprint("o", i)), &scratch, nil)
			v, _ := heard(o)
			require.EqualValues(t, 1, v.Int)
		default:
			words := []string{"LOCK", "k", fmt.Sprint("o", i), "PX", "60000", "WAIT", "0"}
			if i < readers {
				words = append(words, "SHARED")
			}
			o.came, o.waits = step, true
			o.s.Feed(appendCommand(nil, words...), &scratch, nil)
		}
		var now []int
		for j, other := range all {
			if other.waits {
				if v, ok := heard(other); ok {
					require.Positive(t, v.Int, "%v", v)
					now = append(now, j)
				}
			}
		}
		for _, j := range now {
			granted(j)
		}
	}
	require.Greater(t, entered, readers/2)
}

// TestUpgradeBesideWaiters: an upgrade goes before waiters that came earlier, and after the readers that come
// in while it waits. When the reader's own hold ends, it waits as any writer does.
func TestUpgradeBesideWaiters(t *testing.T) {
	t.Parallel()
	clock := NewManualClock(time.UnixMilli(1_750_000_000_000))
	srv := startWith(t, Options{Clock: clock}, nil)
	c := client(t, srv)
	do := func(line string) string { return c.Do(strings.Fields(line)...).String() }
	const token = `^[1-9][0-9]+$`
	queued := func(line string) {
		t.Helper()
		require.Equal(t, "+QUEUED", do(line+" WAIT 0 NOTIFY"))
	}
	owners := func() (all []string) {
		for _, h := range entries(t, c.Do("LOCK.INFO", "k"))["holders"].Elems {
			all = append(all, entries(t, h)["owner"].Str+" "+entries(t, h)["mode"].Str)
		}
		slices.Sort(all)
		return all
	}
	require.Regexp(t, token, do("LOCK k r1 SHARED PX 5000"))
	require.Regexp(t, token, do("LOCK k r2 SHARED PX 60000"))
	queued("LOCK k w PX 60000")
	queued("LOCK k r3 SHARED PX 60000")
	queued("LOCK k r2 PX 60000")
	require.Equal(t, []string{"r1 shared", "r2 shared"}, owners())
	require.Equal(t, "1", do("LOCK.CANCEL k w"))
	require.Equal(t, []string{"r1 shared", "r2 shared", "r3 shared"}, owners(), "no writer waits before r3")
	queued("LOCK k w PX 60000")
	require.Equal(t, "1", do("UNLOCK k r1"))
	require.Equal(t, "1", do("UNLOCK k r3"))
	require.Equal(t, []string{"r2 exclusive"}, owners())
	require.Equal(t, "1", do("LOCK.FORCE k"))
	require.Equal(t, `"w"`, entries(t, c.Do("LOCK.INFO", "k"))["owner"].String())
	require.Equal(t, "1", do("UNLOCK k w"))

	require.Regexp(t, token, do("LOCK k r1 SHARED PX 5000"))
	require.Regexp(t, token, do("LOCK k r2 SHARED PX 1000"))
	queued("LOCK k w PX 60000")
	queued("LOCK k r2 PX 60000")
	clock.Advance(2 * time.Second)
	require.Equal(t, []string{"r1 shared"}, owners(), "r2's hold has ended")
	require.Equal(t, "1", do("UNLOCK k r1"))
	require.Equal(t, `"w"`, entries(t, c.Do("LOCK.INFO", "k"))["owner"].String(), "it came before r2")
}

// TestListsAreBounded: without COUNT, LOCK.INFO and SEM.INFO list a thousand at most, and say how many there
// are.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	srv := startWith(t, Options{Clock: NewManualClock(time.UnixMilli(1_750_000_000_000))}, nil)
	c := client(t, srv)
	c.Do("LOCK", "k", "me")
	lines := [][]string{}
	for i := range wait.UsualListed + 1 {
		lines = append(lines, []string{"LOCK", "k", fmt.Sprint("w", i), "WAIT", "0", "NOTIFY"}, []string{"LOCK", "r", fmt.Sprint("r", i), "SHARED"},
			[]string{"SEM.ACQUIRE", "s", fmt.Sprint("s", i), "LIMIT", "5000"})
	}
	c.Pipeline(lines[:len(lines)-3])
	for _, key := range []string{"k", "r"} {
		require.NotContains(t, entries(t, c.Do("LOCK.INFO", key)), "waiting")
	}
	c.Pipeline(lines[len(lines)-3:])
	for _, words := range [][3]string{{"LOCK.INFO", "k", "wait"}, {"LOCK.INFO", "r", "hold"}, {"LOCK.INFO", "s", "hold"}, {"SEM.INFO", "s", "hold"}} {
		info := entries(t, c.Do(words[0], words[1]))
		require.EqualValues(t, wait.UsualListed+1, info[words[2]+"ing"].Int, words)
		require.Len(t, info[words[2]+"ers"].Elems, wait.UsualListed, words)
	}
	require.Len(t, entries(t, c.Do("LOCK.INFO", "k", "COUNT", "1001"))["waiters"].Elems, wait.UsualListed+1)
}
