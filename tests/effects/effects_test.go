package effects

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/store"
	"lockserver/tests/shrink"
	"lockserver/tests/testkit"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random clients; 0: that of testkit.Seed")

const (
	rounds     = 12 // each with its own server, because a flush in one round hides differences that another round shows
	workers    = 4
	eachClient = 1500 // commands
)

// start returns the time at which the server's clock begins. It is late enough that no key expires in a Redis
// that replays the effects with the clock of the machine.
func start() time.Time { return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC) }

// collector is a journal in memory.
type collector struct {
	mu      sync.Mutex
	effects []store.Effect
	units   int
	ends    []int // of each unit in effects
	// loses, if set, says which effects are lost: a planted fault.
	loses func(e store.Effect) bool
}

// Append implements server.Journal.
func (j *collector) Append(unit []store.Effect) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range unit {
		if j.loses == nil || !j.loses(e) {
			j.effects = append(j.effects, e)
		}
	}
	j.units++
	j.ends = append(j.ends, len(j.effects))
}

// seedOf prints the seed, with which the test can be repeated as far as goroutines allow.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := testkit.SeedOr(*seedFlag)
	t.Logf("seed %d", seed)
	return seed
}

func startServer(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	srv, err := server.New(o)
	require.NoError(t, err)
	require.NoError(t, srv.Start())
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

// recording holds what random clients did to a server.
type recording struct {
	data    testkit.Dataset // the data of the server at the end
	effects []store.Effect  // the effects that produced it
	ends    []int           // where each unit ends in effects
	steps   []step          // the steps of the clients, in an approximate order, because they ran at the same time
	// accepted counts the accepted commands by name, and by the options in countedWords.
	accepted map[string]int
	seed     uint64
	loses    func(e store.Effect) bool // see collector.loses
}

// record runs random clients on a server. Deadlines of fields and producers of streams are used only if newer
// is set, because a Redis that does not know them cannot replay such effects. If loses is set it says which
// effects are lost.
func record(t *testing.T, seed uint64, newer bool, loses func(e store.Effect) bool) *recording {
	t.Helper()
	clock := server.NewManualClock(start())
	journal := &collector{loses: loses}
	srv := startServer(t, server.Options{Clock: clock, Seed: seed | 1, Journal: journal})
	r := &recording{seed: seed, loses: loses, accepted: map[string]int{}}
	var observing sync.Mutex
	observe := func(s step) {
		observing.Lock()
		defer observing.Unlock()
		r.steps = append(r.steps, s)
	}

	var unique atomic.Int64
	errs, counts := make([]error, workers), make([]map[string]int, workers)
	var all sync.WaitGroup
	for i := range workers {
		counts[i] = map[string]int{}
		w := &worker{name: fmt.Sprint("owner", i), rand: rand.New(rand.NewPCG(seed, uint64(i))), unique: &unique, accepted: counts[i],
			startMS: start().UnixMilli(), fieldTimes: newer, producers: newer, observe: observe}
		all.Go(func() {
			errs[i] = w.run(func() (*testkit.Client, error) {
				conn, err := srv.Dial()
				if err != nil {
					return nil, err
				}
				return testkit.NewClient(t, conn), nil
			}, eachClient)
		})
	}
	ended := make(chan struct{})
	go func() {
		all.Wait()
		close(ended)
	}()
	runTime(clock, rand.New(rand.NewPCG(seed, workers)), ended, observe)
	require.NoError(t, errors.Join(errs...))
	for _, accepted := range counts {
		for name, n := range accepted {
			r.accepted[name] += n
		}
	}
	clock.Advance(0) // now all that is due has happened

	r.data = testkit.ReadDataset(testkit.Dial(t, srv.Dial))
	journal.mu.Lock()
	defer journal.mu.Unlock()
	r.effects, r.ends = slices.Clone(journal.effects), slices.Clone(journal.ends)
	t.Logf("%d commands, %d units, %d effects, %d keys left, %v passed", workers*eachClient, journal.units,
		len(journal.effects), len(r.data), time.UnixMicro(clock.NowUS()).Sub(start()))
	return r
}

// runTime advances the clock in small steps until ended is closed.
func runTime(clock *server.ManualClock, chance *rand.Rand, ended <-chan struct{}, observe func(step)) {
	for {
		select {
		case <-ended:
			return
		default:
			passes := time.Duration(chance.IntN(20_000)) * time.Microsecond
			observe(step{passes: passes})
			clock.Advance(passes)
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// replay sends effects through a client. It returns the data afterwards, and the refused effects.
func replay(c *testkit.Client, effects []store.Effect) (data testkit.Dataset, refused []string) {
	db := 0
	c.Do("SELECT", "0")
	var batch [][]string
	flush := func() {
		for i, v := range c.Pipeline(batch) {
			if v.IsError() {
				refused = append(refused, fmt.Sprintf("refused: %s: %s", testkit.Line(batch[i]), v))
			}
		}
		batch = batch[:0]
	}
	for _, e := range effects {
		if e.DB != db {
			db = e.DB
			batch = append(batch, []string{"SELECT", strconv.Itoa(db)})
		}
		batch = append(batch, words(e))
		if len(batch) >= 200 {
			flush()
		}
	}
	flush()
	return testkit.ReadDataset(c), refused
}

// words returns an effect as a command.
func words(e store.Effect) []string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = string(a)
	}
	return args
}

// differs returns the differences between the data of clients and the data that their effects give. Each
// replays them on its own server.
type differs func(data testkit.Dataset, effects []store.Effect) []string

// here replays into an empty lockserver with a clock that stands still before any deadline, so that only
// effects remove keys. PEXPIREAT with the present millisecond would remove a key that still lives through it.
func here(t *testing.T) differs {
	srv := startServer(t, server.Options{Clock: server.NewManualClock(start().Add(-time.Hour))})
	c := testkit.Dial(t, srv.Dial)
	return func(data testkit.Dataset, effects []store.Effect) []string {
		require.Equal(t, "+OK", c.Do("FLUSHALL").String())
		again, refused := replay(c, effects)
		return append(refused, data.Diff(again, 0)...)
	}
}

func TestReplayGivesTheSameData(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	kinds, accepted, recurred := map[string]int{}, map[string]int{}, 0
	differ := here(t)
	for round := range uint64(rounds) {
		r := record(t, seed+round, true, nil)
		for _, e := range r.effects {
			require.NoError(t, checkForm(e))
			kinds[string(e.Args[0])]++
			if n := len(e.Args); n > 2 && string(e.Args[n-2]) == "delay.due" {
				recurred++
			}
		}
		for name, n := range r.accepted {
			accepted[name] += n
		}
		if diff := differ(r.data, r.effects); len(diff) > 0 {
			t.Fatalf("what clients did | what the effects did\n%s", r.explain(t, diff, differ, shrink.Limits{Time: shrinkTime}))
		}
	}
	t.Logf("effects: %v", kinds)
	for _, name := range []string{
		"SET", "APPEND", "SETRANGE", "DEL", "PEXPIREAT", "PERSIST", "RENAME", "MOVE", "COPY", "HSET", "HDEL", "SADD", "SREM",
		"HPEXPIREAT", "HPERSIST",
		"RPUSH", "LPUSH", "RPOP", "LPOP", "LSET", "LINSERT", "LREM", "LTRIM", "ZADD", "ZREM",
		"XADD", "XCFGSET", "XIDMPRECORD", "XDEL", "XTRIM", "XSETID", "XGROUP", "XCLAIM", "XACK", "SWAPDB", "FLUSHDB", "RESTORE",
	} {
		require.Contains(t, kinds, name, "the workload never made this effect: %v", slices.Sorted(maps.Keys(kinds)))
	}
	for _, name := range []string{"LIMIT.MTAKE", "LIMIT.GIVE", "DELAY.ADD EVERY", "DELAY.ADD CRON", "LOCK PRIORITY", "MLOCK PRIORITY",
		"SEM.ACQUIRE PRIORITY", "SEM.RELEASE", "SEM.RENEW", "SEM.RESIZE"} {
		require.Contains(t, accepted, name, "this command was never accepted: %v", slices.Sorted(maps.Keys(accepted)))
	}
	require.Positive(t, recurred, "no recurring entry was ever added to its stream")
}

// TestReplayInTheLastMillisecond is about a key with the present millisecond as its deadline. It still lives.
func TestReplayInTheLastMillisecond(t *testing.T) {
	journal := &collector{}
	srv := startServer(t, server.Options{Clock: server.NewManualClock(start()), Journal: journal})
	c := testkit.Dial(t, srv.Dial)
	c.Do("LOCK", "l", "alice", "PX", "1")
	data := testkit.ReadDataset(c)
	require.Len(t, data, 1)
	require.Empty(t, here(t)(data, journal.effects))
}

// TestReplayKeepsTheSignOfZero is about scores of -0, which a compact sorted set cannot hold. A replay adds
// the members one by one, to a set that is compact at first.
func TestReplayKeepsTheSignOfZero(t *testing.T) {
	journal := &collector{}
	srv := startServer(t, server.Options{Clock: server.NewManualClock(start()), Journal: journal})
	c := testkit.Dial(t, srv.Dial)
	long := strings.Repeat("x", 100)
	c.Do("ZADD", "by-length", "-1", "m", "0", long, "5", "n")
	c.Do("ZADD", "zeros", "0", "a", "0", "z", "0", "m", "0", long, "3", "n")
	c.Do("ZUNIONSTORE", "stored", "2", "by-length", "zeros", "WEIGHTS", "0", "-1", "AGGREGATE", "MIN")
	for i := range 200 {
		c.Do("ZADD", "many", strconv.Itoa(i/5), fmt.Sprint("member", i))
	}
	c.Do("ZUNIONSTORE", "large", "1", "many", "WEIGHTS", "-1")
	data := testkit.ReadDataset(c)
	for _, key := range []string{"stored", "large"} {
		require.Contains(t, c.Do("ZRANGE", key, "0", "-1", "WITHSCORES").String(), `"-0"`, key)
	}
	require.Empty(t, here(t)(data, journal.effects), "what the client did | what the effects did")
}

// TestALostEffectIsSeen plants the fault that the other tests must find: a lost effect.
func TestALostEffectIsSeen(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	r := record(t, seed, true, nil)
	last := lastingWrites(r.effects)
	for round := uint64(1); len(last) == 0 && round < rounds; round++ { // repeated while the last command was a flush
		r = record(t, seed+round, true, nil)
		last = lastingWrites(r.effects)
	}
	require.NotEmpty(t, last, "no effect that nothing covers later")
	chance, differ := rand.New(rand.NewPCG(seed, 99)), here(t)
	for range 3 {
		lost := last[chance.IntN(len(last))]
		without := slices.Delete(slices.Clone(r.effects), lost, lost+1)
		diff := differ(r.data, without)
		require.NotEmptyf(t, diff, "the loss of %q was not noticed", r.effects[lost].Args)
		require.Contains(t, strings.Join(diff, "\n"), strconv.Quote(string(r.effects[lost].Args[1])))
	}
}

// lastingWrites returns the positions of effects that bring a new value to a key which no later effect
// touches. A value that an earlier effect has brought to any key is not new. Some commands are played twice
// in a row, and the loss of the first would not show.
func lastingWrites(effects []store.Effect) (positions []int) {
	first := map[string]int{} // the effect that first brought a value
	for i, e := range effects {
		for _, a := range e.Args[1:] {
			if _, ok := first[string(a)]; !ok {
				first[string(a)] = i
			}
		}
	}
	isNew := func(i int, value []byte) bool {
		return strings.HasPrefix(string(value), "u") && first[string(value)] == i
	}
	later := map[testkit.Place]bool{}
	for i := len(effects) - 1; i >= 0; i-- {
		e := effects[i]
		switch name := string(e.Args[0]); name {
		case "FLUSHDB", "FLUSHALL", "SWAPDB":
			return positions
		case "MOVE", "COPY", "RENAME": // the other key may be in another database
			for db := range 16 {
				later[testkit.Place{DB: db, Key: string(e.Args[1])}] = true
				later[testkit.Place{DB: db, Key: string(e.Args[2])}] = true
			}
		default:
			place := testkit.Place{DB: e.DB, Key: string(e.Args[1])}
			lasts := name == "XADD" || name == "SET" && isNew(i, e.Args[2]) || name == "HSET" && isNew(i, e.Args[3])
			if lasts && !later[place] {
				positions = append(positions, i)
			}
			later[place] = true
		}
	}
	return positions
}

func TestLastingWrites(t *testing.T) {
	var effects []store.Effect
	for _, line := range []string{
		"SET a u1",             // covered by the next effect
		"SET a u2",             // lasts
		"SET b u3", "SET b u3", // the first is covered, the second has no new value
		"HSET h f u4", "DEL h", // covered
		"HSET g f u5",             // lasts
		"SET c u5",                // the value came before, elsewhere
		"SET n 17",                // the value may have been there
		"SET d u6", "COPY d e DB", // the value may be the rest of another one
		"XADD x 1-1 f u5", // lasts: an entry occurs only once
	} {
		e := store.Effect{}
		for _, a := range strings.Fields(line) {
			e.Args = append(e.Args, []byte(a))
		}
		effects = append(effects, e)
	}
	require.Equal(t, []int{11, 6, 1}, lastingWrites(effects))
}

func TestFormRefusesWhatIsNotListed(t *testing.T) {
	for _, args := range [][]string{
		{"LOCK", "k", "o"}, {"EXPIRE", "k", "5"}, {"PEXPIREAT", "k", "soon"}, {"SPOP", "k"}, {"SET", "k", "v", "EX", "5"}, {"SET", "k"},
		{"XADD", "k", "1-1", "f"}, {"HSET", "k", "f"}, {"XTRIM", "k", "MAXLEN", "~", "5"}, {"DEL", "a", "b"}, {"INCR", "k"},
		{"LPOP", "k"}, {"RPOPLPUSH", "k", "l"}, {"LMOVE", "k", "l", "LEFT", "LEFT"}, {"LPUSHX", "k", "e"}, {"LTRIM", "k", "0"},
		{"HPEXPIREAT", "k", "5", "FIELDS", "2", "f"}, {"HPERSIST", "k", "f"}, {"HEXPIRE", "k", "5", "FIELDS", "1", "f"},
		{"RESTORE", "k", "0", "payload"}, {"RESTORE", "k", "0", "payload", "ABSTTL", "REPLACE"}, {"DUMP", "k"},
	} {
		e := store.Effect{}
		for _, a := range args {
			e.Args = append(e.Args, []byte(a))
		}
		require.Error(t, checkForm(e), "%q", args)
	}
}
