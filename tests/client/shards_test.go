package client_test

import (
	"context"
	"errors"
	"fmt"
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
	"lockserver/server"
	"lockserver/tests/testkit"
)

// fleet is a cluster of shards in a bubble, and the ways to them, which a test can break.
type fleet struct {
	ways []*network // in the order of the slots

	mu    sync.Mutex
	addrs []string            // where the map says that the shards are
	at    map[string]*network // at each address
	slots []redis.ClusterSlot // not nil: what the library takes for the map
}

// overShards runs a test with three shards, in a bubble.
func overShards(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // what Close has left is tried once more
		of, err := server.NewCluster(server.Options{Directives: map[string]string{
			"bind": "", "lock-watchdog-timeout": strconv.FormatInt(lease.Milliseconds(), 10), "cluster-announce-ip": "192.0.2.1", "cluster-announce-port": "7000",
		}}, 3)
		require.NoError(t, err)
		require.NoError(t, of.Start())
		t.Cleanup(func() { _ = of.Close() })
		f := &fleet{at: make(map[string]*network)}
		for i, srv := range of.Shards() {
			f.ways = append(f.ways, &network{srv: srv, conns: make(map[*conn]bool)})
			f.addrs = append(f.addrs, "192.0.2.1:"+strconv.Itoa(7000+i))
			f.at[f.addrs[i]] = f.ways[i]
		}
		test(t, f)
	})
}

func (f *fleet) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	f.mu.Lock()
	way := f.at[addr]
	f.mu.Unlock()
	if way == nil {
		return nil, fmt.Errorf("there is no server at %s", addr)
	}
	return way.dial(ctx, network, addr)
}

// library is a cluster client of go-redis as a program would make it.
func (f *fleet) library(t *testing.T) *redis.ClusterClient {
	t.Helper()
	o := &redis.ClusterOptions{Addrs: slices.Clone(f.addrs), Dialer: f.dial, ClusterStateReloadInterval: time.Second}
	f.mu.Lock()
	if f.slots != nil {
		o.ClusterSlots = func(context.Context) ([]redis.ClusterSlot, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.slots, nil
		}
	}
	f.mu.Unlock()
	rdb := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// client is a client of the package.
func (f *fleet) client(t *testing.T, settings ...client.Setting) *client.Client {
	t.Helper()
	c, err := client.NewCluster(f.library(t), settings...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	time.Sleep(time.Minute) // go-redis holds a mutex while it asks for the list of commands, and a bubble's time stands still then
	return c
}

// says has the library take these addresses for the map of the cluster, a third of the slots each.
func (f *fleet) says(addrs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots = nil
	for i, addr := range addrs {
		end := (i+1)*keyslot.Count/3 - 1
		if i == 2 {
			end = keyslot.Count - 1
		}
		f.slots = append(f.slots, redis.ClusterSlot{Start: i * keyslot.Count / 3, End: end, Nodes: []redis.ClusterNode{{Addr: addr}}})
	}
}

// operator is a connection of another program to a shard.
func (f *fleet) operator(t *testing.T, shard int) *testkit.Client {
	return operator(t, f.ways[shard].srv)
}

// keysOfShards returns a key of each shard that begins with these words.
func keysOfShards(words string) []string {
	keys := make([]string, 3)
	for n, left := 0, 3; left > 0; n++ {
		key := words + strconv.Itoa(n)
		if i := keyslot.Of([]byte(key)) * 3 / keyslot.Count; keys[i] == "" {
			keys[i] = key
			left--
		}
	}
	return keys
}

// count returns how many attached connections of clients with such names a shard has.
func (f *fleet) count(t *testing.T, shard int) int {
	t.Helper()
	return strings.Count(f.operator(t, shard).Do("CLIENT", "LIST").Str, " name=lock:")
}

// TestShards: all kinds of calls work on each shard, by one connection to each that is used.
func TestShards(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		c, other := f.client(t), f.client(t)
		for i, key := range keysOfShards("k") {
			op := f.operator(t, i)
			l, err := c.Lock(ctx, key)
			require.NoError(t, err)
			require.Equal(t, "1", op.Do("HGET", key, l.Owner()).Str)
			came := lockLater(ctx, other, key)
			synctest.Wait()
			info, ok, err := c.Info(ctx, key)
			require.NoError(t, err)
			require.True(t, ok)
			require.Len(t, info.Waiters, 1)
			reply, err := l.Guard(ctx, "SET", "{"+key+"}guarded", "v")
			require.NoError(t, err)
			require.Equal(t, "OK", reply)
			time.Sleep(10 * lease)
			require.NoError(t, l.Context().Err(), "the server renews it")
			require.NoError(t, l.Unlock(ctx))
			next := <-came
			require.NoError(t, next.err)
			require.Greater(t, next.Token(), l.Token())
			done, err := c.ForceUnlock(ctx, key)
			require.NoError(t, err)
			require.True(t, done)
			isLoss(t, ends(t, next.Lock), key, next.Token(), "forced")

			short, err := c.Lock(ctx, key, client.Lease(time.Minute))
			require.NoError(t, err)
			require.NoError(t, short.Renew(ctx, time.Hour))
			time.Sleep(30 * time.Minute)
			require.NoError(t, short.Context().Err())
			time.Sleep(30 * time.Minute)
			isLoss(t, ends(t, short), key, short.Token(), "expired")

			both, err := c.MLock(ctx, []string{"{" + key + "}a", "{" + key + "}b"})
			require.NoError(t, err)
			require.NoError(t, both.Unlock(ctx))
			require.Zero(t, op.Do("EXISTS", "{"+key+"}a").Int)

			permit, err := c.Semaphore("sem"+key, 1).Acquire(ctx)
			require.NoError(t, err)
			later := make(chan error, 1)
			go func() {
				p, err := other.Semaphore("sem"+key, 1).Acquire(ctx)
				if err == nil {
					err = p.Release(ctx)
				}
				later <- err
			}()
			synctest.Wait()
			require.NoError(t, permit.Release(ctx))
			require.NoError(t, <-later)

			latch := c.Latch("latch" + key)
			_, err = latch.Set(ctx, 1)
			require.NoError(t, err)
			opened := make(chan error, 1)
			go func() { opened <- latch.Wait(ctx) }()
			synctest.Wait()
			_, err = latch.Down(ctx)
			require.NoError(t, err)
			require.NoError(t, <-opened)

			rate := client.Rate{Burst: 1, Count: 1, Period: time.Minute}
			limiter := c.Limiter("rate"+key, rate)
			for _, allowed := range []bool{true, false} {
				taken, err := limiter.Take(ctx)
				require.NoError(t, err)
				require.Equal(t, allowed, taken.Allowed)
			}
			taken, err := limiter.Wait(ctx)
			require.NoError(t, err)
			require.True(t, taken.Allowed)
			all, err := c.TakeLimits(ctx, []client.Limiter{c.Limiter("{"+key+"}r1", rate), c.Limiter("{"+key+"}r2", rate)})
			require.NoError(t, err)
			require.True(t, all.Allowed)

			stream := "stream" + key
			_, added, err := c.Delay(stream).Add(ctx, "", client.After(time.Minute), "f", "v")
			require.NoError(t, err)
			require.True(t, added)
			worked := make(chan client.Entry, 1)
			w, err := c.Worker(client.Work{Stream: stream, Dead: "{" + stream + "}:dead", Group: "g", Handle: func(_ context.Context, e client.Entry) error {
				worked <- e
				return nil
			}})
			require.NoError(t, err)
			limited, cancel := context.WithCancel(ctx)
			ran := make(chan error, 1)
			go func() { ran <- w.Run(limited) }()
			require.Equal(t, "v", (<-worked).Field("f"))
			cancel()
			require.NoError(t, <-ran)

			sale := c.Sale("{" + key + "}")
			made, err := sale.Create(ctx, client.Terms{Stock: 1, Hold: time.Hour, Stream: "orders{" + key + "}"})
			require.NoError(t, err)
			require.True(t, made)
			outcome, err := sale.Buy(ctx, "ann", "1")
			require.NoError(t, err)
			require.Equal(t, client.Sold, outcome)
			for range 2 {
				done, err := sale.Cancel(ctx, "ann", "1")
				require.NoError(t, err)
				require.True(t, done)
			}
			made, err = sale.Create(ctx, client.Terms{Stock: 1, Stream: "orders{" + key + "}", Replace: true})
			require.NoError(t, err)
			require.True(t, made)
		}
		synctest.Wait()
		require.Zero(t, c.Stats().Held)
		for i := range f.ways {
			require.Equal(t, 2, f.count(t, i), "a connection of each client")
		}
	})
}

// TestShardsThatAreNotUsed: a client connects to a shard when it uses that first.
func TestShardsThatAreNotUsed(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		c := f.client(t)
		used := func() (n int) {
			for i := range f.ways {
				n += f.count(t, i)
			}
			return n
		}
		require.Equal(t, 1, used(), "of New")
		for _, key := range keysOfShards("k") {
			l, err := c.Lock(ctx, key)
			require.NoError(t, err)
			require.NoError(t, l.Unlock(ctx))
		}
		require.Equal(t, 3, used())
	})
}

// TestTokensOfTwoShards: two locks of one client have the same token, because they are on different shards.
// One of them is lost, then the other one is released.
func TestTokensOfTwoShards(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		c := f.client(t)
		keys := keysOfShards("k")
		var locks []*client.Lock
		for _, key := range keys {
			l, err := c.Lock(ctx, key)
			require.NoError(t, err)
			locks = append(locks, l)
		}
		highest := int64(0)
		for _, l := range locks {
			highest = max(highest, l.Token())
			require.NoError(t, l.Unlock(ctx))
		}
		// Each shard counts on from its last token: the others are brought to the highest one.
		for i, key := range keys {
			op := f.operator(t, i)
			for op.Do("LOCK", key, "me").Int < highest {
				require.EqualValues(t, 1, op.Do("UNLOCK", key, "me").Int)
			}
			require.EqualValues(t, 1, op.Do("UNLOCK", key, "me").Int)
		}
		locks = nil
		for _, key := range keys {
			l, err := c.Lock(ctx, key)
			require.NoError(t, err)
			locks = append(locks, l)
		}
		require.Equal(t, locks[0].Token(), locks[1].Token())
		require.Equal(t, locks[1].Token(), locks[2].Token())
		require.Equal(t, 3, c.Stats().Held)
		f.operator(t, 1).Do("LOCK.FORCE", keys[1])
		isLoss(t, ends(t, locks[1]), keys[1], locks[1].Token(), "forced")
		require.NoError(t, locks[0].Context().Err())
		require.NoError(t, locks[2].Context().Err())
		synctest.Wait()
		require.Equal(t, 2, c.Stats().Held)
		require.NoError(t, locks[0].Unlock(ctx))
		require.NoError(t, locks[2].Context().Err())
		f.operator(t, 2).Do("DEL", keys[2])
		isLoss(t, ends(t, locks[2]), keys[2], locks[2].Token(), "deleted")
	})
}

// TestShardIsLost: a shard cannot be reached, or says nothing. Its locks are lost before their leases can
// have ended, and its waits end. The other shards are not affected, and it is used again when it is there.
func TestShardIsLost(t *testing.T) {
	for how, lose := range map[string]func(n *network){
		"the connections are refused": func(n *network) { n.connect(nil); n.breakSome(1) },
		"nothing comes through":       (*network).silence,
	} {
		t.Run(how, func(t *testing.T) {
			overShards(t, func(t *testing.T, f *fleet) {
				c, other := f.client(t), f.client(t)
				keys := keysOfShards("k")
				var locks []*client.Lock
				var waits []<-chan had
				for _, key := range keys {
					l, err := c.Lock(ctx, key)
					require.NoError(t, err)
					locks = append(locks, l)
					waits = append(waits, lockLater(ctx, other, key))
				}
				synctest.Wait()
				time.Sleep(lease / 3)
				srv, began := f.ways[1].srv, time.Now()
				lose(f.ways[1])
				isLoss(t, ends(t, locks[1]), keys[1], locks[1].Token(), "unreachable")
				require.Less(t, time.Since(began), lease*2/3, "its lease may have ended")
				require.ErrorIs(t, (<-waits[1]).err, client.ErrNoAnswer)
				began = time.Now()
				_, err := c.Lock(ctx, keys[1])
				require.Error(t, err)
				require.LessOrEqual(t, time.Since(began), 6*time.Second)
				time.Sleep(time.Hour)
				for _, i := range []int{0, 2} {
					require.NoError(t, locks[i].Context().Err())
					reply, err := locks[i].Guard(ctx, "EXISTS", keys[i])
					require.NoError(t, err)
					require.Equal(t, int64(1), reply)
					require.NoError(t, locks[i].Unlock(ctx))
					next := <-waits[i]
					require.NoError(t, next.err)
					require.NoError(t, next.Unlock(ctx))
				}
				f.ways[1].mu.Lock()
				f.ways[1].mute = false
				f.ways[1].mu.Unlock()
				f.ways[1].connect(srv)
				f.ways[1].breakSome(1)
				require.Eventually(t, func() bool {
					l, err := c.Lock(ctx, keys[1])
					return err == nil && l.Unlock(ctx) == nil
				}, time.Minute, time.Second)
				require.Zero(t, f.operator(t, 1).Do("EXISTS", keys[1]).Int, "no lock is left of the calls that have failed")
			})
		})
	}
}

// TestNewWithoutAShard: a client begins while one of the shards is down, whichever that is.
func TestNewWithoutAShard(t *testing.T) {
	for gone := range 3 {
		overShards(t, func(t *testing.T, f *fleet) {
			f.ways[gone].connect(nil)
			c := f.client(t)
			for i, key := range keysOfShards("k") {
				if i != gone {
					l, err := c.Lock(ctx, key)
					require.NoError(t, err)
					require.NoError(t, l.Unlock(ctx))
				}
			}
		})
	}
}

// TestRedirected: the library's map is wrong: it says that one shard has all slots, or that each has those of
// another one. The calls follow the redirections, also those that are sent only once, and the waits.
func TestRedirected(t *testing.T) {
	for name, order := range map[string][3]int{"all at one": {0, 0, 0}, "in another order": {1, 2, 0}} {
		t.Run(name, func(t *testing.T) {
			overShards(t, func(t *testing.T, f *fleet) {
				f.says(f.addrs[order[0]], f.addrs[order[1]], f.addrs[order[2]])
				c, other := f.client(t), f.client(t)
				for i, key := range keysOfShards("k") {
					l, err := c.Lock(ctx, key)
					require.NoError(t, err)
					later := lockLater(ctx, other, key)
					synctest.Wait()
					require.Len(t, f.operator(t, i).Do("LOCK.WAITERS").Elems, 1)
					time.Sleep(3 * lease)
					require.NoError(t, l.Context().Err())
					require.NoError(t, l.Unlock(ctx))
					next := <-later
					require.NoError(t, next.err)
					taken, err := c.Limiter("rate"+key, client.Rate{Burst: 2, Count: 1, Period: time.Hour}).Take(ctx)
					require.NoError(t, err)
					require.Equal(t, 1, taken.Remaining, "it is taken once")
					latch := c.Latch("latch" + key)
					_, err = latch.Set(ctx, 1)
					require.NoError(t, err)
					opened := make(chan error, 1)
					go func() { opened <- latch.Wait(ctx) }()
					synctest.Wait()
					left, err := latch.Down(ctx)
					require.NoError(t, err)
					require.Zero(t, left)
					require.NoError(t, <-opened)
					require.NoError(t, next.Unlock(ctx))
				}
			})
		})
	}
}

// TestShardMoves: a shard has another address from one moment on, and nothing answers at the former one. Its
// lock is kept, its wait goes on, and a release without an answer is done there.
func TestShardMoves(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		f.says(f.addrs...)
		c, other := f.client(t), f.client(t)
		keys := keysOfShards("k")
		var locks []*client.Lock
		var waits []<-chan had
		for _, key := range keys {
			l, err := c.Lock(ctx, key)
			require.NoError(t, err)
			locks = append(locks, l)
			waits = append(waits, lockLater(ctx, other, key))
		}
		synctest.Wait()
		for round, addr := range []string{"192.0.2.7:1", "192.0.2.8:1", "192.0.2.9:1"} {
			f.mu.Lock()
			delete(f.at, f.addrs[1])
			f.addrs[1] = addr
			f.at[addr] = f.ways[1]
			f.mu.Unlock()
			f.says(f.addrs...)
			f.ways[1].breakSome(1)
			time.Sleep(time.Duration(round) * lease)
			for i, l := range locks {
				require.NoError(t, l.Context().Err(), i)
				require.Positive(t, l.Remaining())
			}
		}
		for i, l := range locks {
			require.NoError(t, l.Unlock(ctx))
			next := <-waits[i]
			require.NoError(t, next.err)
			require.Greater(t, next.Token(), l.Token())
			require.NoError(t, next.Unlock(ctx))
			require.Equal(t, 2, f.count(t, i))
		}
	})
}

// TestShardSendsOn: the server at the former address of a shard lives, and redirects everything to the new
// one.
func TestShardSendsOn(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		f.says(f.addrs...)
		c, other := f.client(t), f.client(t)
		key := keysOfShards("k")[1]
		l, err := c.Lock(ctx, key)
		require.NoError(t, err)
		later := lockLater(ctx, other, key)
		synctest.Wait()
		former := f.addrs[1]
		f.mu.Lock()
		f.addrs[1] = "192.0.2.9:1"
		f.at[f.addrs[1]] = f.ways[1]
		f.at[former] = &network{conns: make(map[*conn]bool), by: func() net.Conn {
			return elsewhere(fmt.Sprintf("MOVED %d %s", keyslot.Of([]byte(key)), f.addrs[1]))
		}}
		f.mu.Unlock() // the library's map is not changed
		f.ways[1].breakSome(1)
		time.Sleep(3 * lease)
		require.NoError(t, l.Context().Err())
		require.NoError(t, l.Unlock(ctx))
		next := <-later
		require.NoError(t, next.err)
		require.NoError(t, next.Unlock(ctx))
	})
}

// TestShardMovesAndForgets: the server at the new address of a shard does not have the lock: the holder is
// reported. If that server does not answer either, the lock counts as lost before its lease can have ended.
func TestShardMovesAndForgets(t *testing.T) {
	for reason, new := range map[string]func(t *testing.T, f *fleet){
		"stale": func(t *testing.T, f *fleet) { f.operator(t, 1).Do("FLUSHALL") },
		"unreachable": func(_ *testing.T, f *fleet) {
			f.ways[1].by = func() net.Conn {
				ours, theirs := net.Pipe()
				go func() { _, _ = ours.Read(make([]byte, 1<<20)) }()
				return theirs
			}
		},
	} {
		t.Run(reason, func(t *testing.T) {
			overShards(t, func(t *testing.T, f *fleet) {
				f.says(f.addrs...)
				c := f.client(t)
				keys := keysOfShards("k")
				kept, err := c.Lock(ctx, keys[0])
				require.NoError(t, err)
				l, err := c.Lock(ctx, keys[1])
				require.NoError(t, err)
				time.Sleep(lease/6 - time.Second) // the last answer of the former address is that old
				f.mu.Lock()
				delete(f.at, f.addrs[1])
				f.addrs[1] = "192.0.2.9:1"
				f.at[f.addrs[1]] = f.ways[1]
				f.mu.Unlock()
				f.says(f.addrs...)
				began := time.Now()
				f.ways[1].mu.Lock()
				for c := range f.ways[1].conns {
					_ = c.Conn.Close()
					delete(f.ways[1].conns, c)
				}
				new(t, f) // before the client has dialed again: it would hear of what is deleted
				f.ways[1].mu.Unlock()
				isLoss(t, ends(t, l), keys[1], l.Token(), reason)
				require.Less(t, time.Since(began), lease*2/3-lease/20-lease/6+2*time.Second, "its lease may have ended")
				if reason == "unreachable" {
					require.NoError(t, kept.Context().Err())
				}
			})
		})
	}
}

// TestCrossSlot: keys of several slots are refused with an error that says so, whichever call names them, and
// nothing is locked.
func TestCrossSlot(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		c := f.client(t)
		keys := keysOfShards("k")
		rate := client.Rate{Burst: 1, Count: 1, Period: time.Minute}
		for name, call := range map[string]func() error{
			"MLock": func() error { return second(c.MLock(ctx, keys)) },
			"TakeLimits": func() error {
				return second(c.TakeLimits(ctx, []client.Limiter{c.Limiter(keys[0], rate), c.Limiter(keys[1], rate)}))
			},
			"WaitLimits": func() error {
				return second(c.WaitLimits(ctx, []client.Limiter{c.Limiter(keys[0], rate), c.Limiter(keys[1], rate)}))
			},
			"Create": func() error { return second(c.Sale("shoe").Create(ctx, client.Terms{Stock: 1})) },
		} {
			err := call()
			require.ErrorIs(t, err, client.ErrCrossSlot, name)
			var reply client.ReplyError
			require.ErrorAs(t, err, &reply, name)
			if name == "MLock" {
				for _, key := range keys {
					require.ErrorContains(t, err, strconv.Quote(key))
				}
			}
		}
		w, err := c.Worker(client.Work{Stream: "mails", Group: "g", Handle: func(context.Context, client.Entry) error { return nil }})
		require.NoError(t, err)
		err = w.Run(ctx)
		require.ErrorIs(t, err, client.ErrCrossSlot)
		require.ErrorContains(t, err, `"mails", "mails:dead"`)
		tagged := c.Sale("{shoe}")
		require.ErrorContains(t, second(tagged.Create(ctx, client.Terms{Stock: 1})), "STREAM and a name that has the hash tag {shoe}")
		_, ok, err := tagged.Info(ctx)
		require.NoError(t, err)
		require.False(t, ok)
		require.ErrorContains(t, second(tagged.Buy(ctx, "ann", "order-1")), "no such seckill")
		l, err := c.Lock(ctx, keys[0])
		require.NoError(t, err)
		require.ErrorIs(t, second(l.Guard(ctx, "SET", keys[1], "v")), client.ErrCrossSlot)
		require.NoError(t, l.Unlock(ctx))
		require.Zero(t, c.Stats())
		for i, key := range keys {
			require.Zero(t, f.operator(t, i).Do("EXISTS", key).Int)
		}
	})
}

// TestCloseOverShards: Close releases what is held on all shards, and ends what waits. The hooks see
// all connections as one.
func TestCloseOverShards(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		var mu sync.Mutex
		var reported []error
		c := f.client(t, client.Observe(client.Hooks{Connected: func(err error) {
			mu.Lock()
			reported = append(reported, err)
			mu.Unlock()
		}}))
		keys := keysOfShards("k")
		for _, key := range keys {
			_, err := c.Lock(ctx, key)
			require.NoError(t, err)
		}
		other := f.client(t)
		var waits []<-chan had
		for _, key := range keys {
			waits = append(waits, lockLater(ctx, other, key))
		}
		synctest.Wait()
		srv := f.ways[0].srv
		f.ways[0].connect(nil)
		f.ways[0].breakSome(1)
		time.Sleep(time.Second)
		f.ways[1].breakSome(1)
		time.Sleep(time.Second)
		f.ways[0].connect(srv)
		time.Sleep(5 * time.Second)
		c.Close()
		for i, wait := range waits {
			next := <-wait
			require.NoError(t, next.err, i)
		}
		other.Close()
		synctest.Wait()
		for i, key := range keys {
			require.Zero(t, f.operator(t, i).Do("EXISTS", key).Int)
			require.Zero(t, f.count(t, i))
		}
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, reported, 4)
		require.NoError(t, reported[0])
		require.Error(t, reported[1])
		require.False(t, errors.Is(reported[1], client.ErrClosed))
		require.NoError(t, reported[2])
		require.ErrorIs(t, reported[3], client.ErrClosed)
	})
}

// TestBrokenConnectionsOverShards: many callers share locks of three shards while connections to each of them
// break, also in the middle of an answer. A lock has one holder at a time, tokens of a key rise, locks that
// are held all the time are kept, and at the end no lock is left.
func TestBrokenConnectionsOverShards(t *testing.T) {
	overShards(t, func(t *testing.T, f *fleet) {
		const rounds, callers = 30, 2
		keys := append(keysOfShards("a"), keysOfShards("b")...)
		kept := make([]*client.Lock, 0, 3)
		keeper := f.client(t)
		for _, key := range keysOfShards("kept") {
			l, err := keeper.Lock(ctx, key)
			require.NoError(t, err)
			kept = append(kept, l)
		}
		over := make(chan struct{})
		var work sync.WaitGroup
		var mu sync.Mutex
		inside, highest, count := make(map[string]bool), make(map[string]int64), 0
		for range callers {
			c := f.client(t)
			for _, key := range keys {
				work.Go(func() {
					for {
						select {
						case <-over:
							return
						default:
						}
						l, err := c.Lock(ctx, key, client.Wait(time.Minute))
						if err != nil {
							time.Sleep(time.Millisecond)
							continue
						}
						mu.Lock()
						if inside[key] {
							t.Errorf("%s has two holders", key)
						}
						if l.Token() <= highest[key] {
							t.Errorf("the token %d of %s is not higher than %d", l.Token(), key, highest[key])
						}
						inside[key], highest[key] = true, l.Token()
						count++
						mu.Unlock()
						time.Sleep(10 * time.Millisecond)
						mu.Lock()
						inside[key] = false
						mu.Unlock()
						if err := l.Unlock(ctx); errors.Is(err, client.ErrLost) {
							t.Errorf("%s: %v", key, err)
						}
					}
				})
			}
		}
		for round := range rounds {
			way := f.ways[round%3]
			if round%2 == 0 {
				way.loseAnswer()
			} else {
				way.breakSome(0.5)
			}
			time.Sleep(100 * time.Millisecond)
		}
		close(over)
		work.Wait()
		require.Greater(t, count, rounds)
		for _, l := range kept {
			require.NoError(t, l.Context().Err())
			require.NoError(t, l.Unlock(ctx))
		}
		time.Sleep(2 * lease)
		for i := range f.ways {
			require.Zero(t, len(f.operator(t, i).Do("LOCK.LIST").Elems))
		}
	})
}
