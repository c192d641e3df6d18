package server

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/internal/testkit"
	"lockserver/server/transport"
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
