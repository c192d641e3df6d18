package server

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/store"
	"lockserver/store/list"
	"lockserver/tests/testkit"
)

// Of many who wait for a list, one element makes one try: those behind it know that there is nothing left.
func TestWaitersBehindTheLastElementDoNotTry(t *testing.T) {
	t.Parallel()
	tries := 0
	rows := []commands.Row{{Name: "take", Group: commands.List, Since: "1.0.0", Flags: commands.Write | commands.Blocking,
		Summary: "Takes.", Complexity: "O(1)", Args: []commands.Arg{commands.Key("key", commands.RW|commands.Delete)},
		Run: func(c *commands.Ctx) error {
			key := commands.Clone(c.Argv[1])
			return c.Block(commands.Wait{Keys: [][]byte{key}, Kind: store.List,
				Try: func(c *commands.Ctx) (bool, error) {
					tries++
					e, ok := c.DB.OpenList(key)
					e.Pop(list.Left, 1, func(v list.Value) { c.Out.Bulk(v.Append(nil)) })
					return ok, nil
				},
				TimedOut: func(c *commands.Ctx) { c.Out.Null() }})
		}}}
	srv := startWithRows(t, Options{}, rows)
	const waiters = 50
	var all []*testkit.Client
	for i := range waiters {
		c := client(t, srv)
		c.Send("TAKE", "l")
		awaitParked(t, srv, i+1)
		all = append(all, c)
	}
	pusher := client(t, srv)
	pusher.Do("SET", "l", "another type")
	pusher.Do("DEL", "l")
	require.Zero(t, tries)
	for i := range waiters {
		if i%2 == 0 {
			continue
		}
		require.Equal(t, "2", pusher.Do("RPUSH", "l", strconv.Itoa(i-1), strconv.Itoa(i)).String())
		require.Equal(t, i+1, tries)
	}
	for i, c := range all {
		require.Equal(t, strconv.Quote(strconv.Itoa(i)), c.Receive().String(), "first come, first served")
	}
	checkParking(t, srv)
}

// A waiter that has gone is not served. Its elements go to the next waiter.
func TestListWaiterThatHasGoneTakesNothing(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, Options{}, func(t *testing.T, srv *instance, dial func() (net.Conn, error)) {
		a, b, pusher := testkit.Dial(t, dial), testkit.Dial(t, dial), testkit.Dial(t, dial)
		a.Send("BLMOVE", "l", "d", "LEFT", "RIGHT", "0")
		awaitParked(t, srv, 1)
		b.Send("BLPOP", "k", "l", "0")
		awaitParked(t, srv, 2)
		a.Close()
		awaitParked(t, srv, 1)
		require.Equal(t, "1", pusher.Do("RPUSH", "l", "x").String())
		require.Equal(t, `["l" "x"]`, b.Receive().String())
		require.Equal(t, "0", pusher.Do("EXISTS", "l", "d").String())
		checkParking(t, srv)
	})
}

// Workers that wait for jobs get each of them once, whatever way they go.
func TestEveryElementIsTakenOnce(t *testing.T) {
	t.Parallel()
	const jobs, workers = 2000, 6
	srv := startWith(t, Options{}, nil)
	var taken sync.Map
	var all sync.WaitGroup
	for i := range workers {
		c := client(t, srv)
		all.Go(func() {
			for {
				var job string
				switch i % 3 {
				case 0:
					job = c.Do("BLPOP", "other", "jobs", "0").Elems[1].Str
				case 1:
					job = c.Do("BLMPOP", "0", "1", "jobs", "RIGHT", "COUNT", "1").Elems[1].Elems[0].Str
				default:
					job = c.Do("BLMOVE", "jobs", "done", "LEFT", "RIGHT", "0").Str
				}
				if job == "end" {
					return
				}
				if _, twice := taken.LoadOrStore(job, true); twice {
					t.Errorf("%s was taken twice", job)
				}
			}
		})
	}
	pusher := client(t, srv)
	for i := 0; i < jobs; i += 4 {
		args := []string{[]string{"LPUSH", "RPUSH"}[i/4%2], "jobs"}
		for k := range 4 {
			args = append(args, fmt.Sprint("job-", i+k))
		}
		require.Positive(t, pusher.Do(args...).Int)
	}
	eventually(t, func() bool { return srv.parked() == workers }, "all jobs should be taken")
	pusher.Do(slices.Concat([]string{"RPUSH", "jobs"}, slices.Repeat([]string{"end"}, workers))...)
	all.Wait()
	n := 0
	taken.Range(func(_, _ any) bool {
		n++
		return true
	})
	require.Equal(t, jobs, n)
	checkParking(t, srv)
}
