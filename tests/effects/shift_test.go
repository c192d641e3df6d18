package effects

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/persistence"
	"lockserver/server"
	"lockserver/server/cluster"
	"lockserver/server/slotdata"
	"lockserver/store"
	"lockserver/tests/testkit"
)

// leased returns commands on a key of a kind, with random owners and times.
func leased(r *rand.Rand, kind string, n int) [][]string {
	key, px := fmt.Sprint(kind, ":", n), fmt.Sprint(1000+r.IntN(1_000_000))
	owner := func() string { return fmt.Sprint("owner", r.IntN(4)) }
	switch kind {
	case "lock":
		return [][]string{{"LOCK", key, owner(), "PX", px}}
	case "renewed":
		return [][]string{{"LOCK", key, owner()}}
	case "shared":
		return [][]string{{"LOCK", key, "a", "SHARED", "PX", px}, {"LOCK", key, owner(), "SHARED", "PX", "700000"}, {"LOCK", key, owner(), "SHARED"}}
	case "sem":
		return [][]string{{"SEM.ACQUIRE", key, owner(), "LIMIT", "3", "PX", px}, {"SEM.ACQUIRE", key, owner(), "LIMIT", "3", "PERMITS", "2", "PX", "30000"}}
	case "limit":
		return [][]string{{"LIMIT.TAKE", key, "20", "7", px, "COST", "15"}, {"LIMIT.TAKE", key, "20", "7", px, "COST", "3"}}
	case "sale":
		made := [][]string{{"SECKILL.CREATE", key, "STOCK", "40", "LIMIT", "3", "HOLD", px, "HOLDMAX", "2000000"}}
		for i := range 5 {
			made = append(made, []string{"SECKILL", key, fmt.Sprint("user", i), fmt.Sprint("order", i)},
				[]string{"SECKILL.EXTEND", key, fmt.Sprint("user", i), fmt.Sprint("order", i), fmt.Sprint(1000 + r.IntN(1_000_000))})
		}
		return made
	case "text":
		return [][]string{{"SET", key, px, "PX", px}}
	case "number": // is also the text of a limiter's state
		return [][]string{{"SET", key, fmt.Sprint(start().UnixNano() + 9_000_000), "PX", px}}
	case "hash":
		return [][]string{{"HSET", key, "f", "1", "g", "2"}, {"HPEXPIRE", key, px, "FIELDS", "1", "f"}, {"PEXPIRE", key, "99000000"}}
	case "redisson":
		return [][]string{{"HSET", key, "client:1", "1"}, {"PEXPIRE", key, px}}
	}
	return [][]string{{"DELAY.ADD", key, "PX", px, "n", "1"}} // delay
}

// shiftedKinds says which kinds have ends that move with the clock.
var shiftedKinds = map[string]bool{"lock": true, "renewed": true, "shared": true, "sem": true, "limit": true, "sale": true,
	"text": false, "number": false, "hash": false, "redisson": false, "delay": false}

// timesOf returns all times in the data of a store by the names of keys, fields and orders. ms has deadlines
// and the ends of holds in milliseconds. ns has the times of limiters in nanoseconds.
func timesOf(st *store.Store) (ms, ns map[string]int64) {
	ms, ns = map[string]int64{}, map[string]int64{}
	st.DB(0).Keys().EachStored(func(key string, r store.Ref) bool {
		if at := r.DeadlineMS(); at != 0 {
			ms[key] = at
		}
		switch {
		case r.Is(store.Hash):
			r.Hash().EachTimed(func(field, _ []byte, atMS int64) bool {
				if atMS != 0 {
					ms[key+" "+string(field)] = atMS
				}
				return true
			})
		case r.Is(store.ZSet):
			r.ZSet().Range(0, r.ZSet().Len(), func(member []byte, score float64) bool {
				ms[key+" "+string(member)] = int64(score)
				return true
			})
		case r.Is(store.String) && strings.HasPrefix(key, "limit:"):
			text, _, _ := strings.Cut(string(r.Bytes()), "+")
			whole, _ := strconv.ParseInt(text, 10, 64)
			ns[key] = whole
		}
		return true
	})
	return ms, ns
}

// kindOfKey returns the kind in the name of a key, or of a key that belongs to it: seckill:holds:{sale:1}.
func kindOfKey(name string) string {
	for kind := range shiftedKinds {
		if strings.Contains(name, kind+":") {
			return kind
		}
	}
	return name
}

// TestLeasesShift: of random leases, permits, holds and limiters in a staging as much time is left at the
// target as there was at the source, and all other times stay.
func TestLeasesShift(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	r := rand.New(rand.NewPCG(seed, 33))
	clock, dir := server.NewManualClock(start()), t.TempDir()
	srv := startServer(t, server.Options{Clock: clock, Dir: dir, Seed: seed | 1})
	c := testkit.Dial(t, srv.Dial)
	frozeMS := start().UnixMilli()
	for n := range 30 {
		for kind := range shiftedKinds {
			for _, words := range leased(r, kind, n) {
				v := c.Do(words...)
				require.False(t, v.IsError(), "%s: %s", testkit.Line(words), v)
			}
		}
		aheadMS := r.Int64N(30)
		frozeMS += aheadMS
		clock.Advance(time.Duration(aheadMS) * time.Millisecond)
	}
	require.Equal(t, "+OK", c.Do("SAVE").String())
	file, err := os.ReadFile(filepath.Join(dir, "dump.rdb"))
	require.NoError(t, err)

	slots := slotdata.SlotsOf([]cluster.Range{cluster.All()})
	for _, byMS := range []int64{0, 1, -1, r.Int64N(10_000_000), -r.Int64N(10_000_000)} {
		source, target := store.New(16, store.Limits{}), store.New(16, store.Limits{})
		source.SetNow(frozeMS * 1000)
		target.SetNow((frozeMS + byMS) * 1000)
		_, err := persistence.Load(bytes.NewReader(file), source, persistence.LoadOptions{})
		require.NoError(t, err)
		staging, cut := slotdata.NewStaging(target, slots), source.Cut()
		require.NoError(t, slotdata.Send(cut, slots, nil, func(piece []byte) error { return staging.Piece((frozeMS+byMS)*1000, piece) }))
		cut.Release()

		for cursor := 0; cursor >= 0; {
			cursor = commands.ShiftLeases(staging.DB(), cursor, 1+r.IntN(20), byMS)
		}
		commands.ShiftHolds(staging.DB(), byMS)
		keys := staging.DB().Len()
		for staging.Take(target, 7) > 0 {
		}
		require.Equal(t, source.DB(0).Len(), keys)
		require.Equal(t, source.DB(0).Len(), target.DB(0).Len())
		seen := map[string]int{}
		check := func(was, now map[string]int64, unit int64) {
			require.Len(t, now, len(was))
			for name, at := range was {
				kind := kindOfKey(name)
				if seen[kind]++; shiftedKinds[kind] {
					at += byMS * unit
				}
				require.Equal(t, at, now[name], "seed %d: %s by %d", seed, name, byMS)
			}
		}
		wasMS, wasNS := timesOf(source)
		nowMS, nowNS := timesOf(target)
		check(wasMS, nowMS, 1)
		check(wasNS, nowNS, 1_000_000)
		for kind := range shiftedKinds {
			require.Positive(t, seen[kind], kind)
		}
	}
}
