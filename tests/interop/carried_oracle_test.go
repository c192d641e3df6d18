//go:build oracle

package interop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// cutOf chooses the step at which a story moves from one server to the other. Renewals and waiters depend on
// clients, which do not move, so there must be none at that step. ok is false if there is no such step.
func cutOf(s recording, rnd *rand.Rand) (cut int, ok bool) {
	var cuts []int
	for i, seen := range s.seen[:len(s.seen)-1] {
		if !seen.watched && len(seen.waiting) == 0 && seen.lock != "none" {
			cuts = append(cuts, i)
		}
	}
	if len(cuts) == 0 {
		return 0, false
	}
	return cuts[rnd.IntN(len(cuts))], true
}

func chance(t *testing.T) *rand.Rand {
	t.Helper()
	from := testkit.SeedOr(*seed)
	t.Logf("-seed %d", from)
	return rand.New(rand.NewPCG(from, 0))
}

// TestFromRedisToLockserver: the scripts begin a story, Redis saves, lockserver loads, and the native
// commands end the story.
func TestFromRedisToLockserver(t *testing.T) {
	rnd := chance(t)
	redis := testkit.StartRedis(t)
	for _, s := range readGolden(t) {
		cut, ok := cutOf(s, rnd)
		if !ok {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%d", s.kind, s.name, cut), func(t *testing.T) {
			rd := startRedisson(t, redis, s.kind)
			var left observation
			for _, st := range s.steps[:cut+1] {
				left = rd.do(st)
			}
			require.Equal(t, "+OK", rd.Do("SAVE").String())
			dir := t.TempDir()
			require.NoError(t, os.Rename(filepath.Join(redis.Dir, "dump.rdb"), filepath.Join(dir, "dump.rdb")))
			n := startNative(t, dir, time.Now())
			cmp := comparison{kind: s.kind, token: left.token, bare: left.lock != "none"}
			var moved observation
			look(t, n.Client, &moved)
			require.Equal(t, left.lock, moved.lock)
			for i := cut + 1; i < len(s.steps); i++ {
				cmp.compare(t, s.steps[i], s.seen[i], n.do(s.steps[i]))
			}
		})
	}
}

// TestFairQueueFromRedis: the waiters of an RFairLock keep their places when Redis' snapshot is loaded.
func TestFairQueueFromRedis(t *testing.T) {
	redis := testkit.StartRedis(t)
	rd := startRedisson(t, redis, fair)
	for _, st := range parseSteps(t, "wait a 30000\nwait b 30000\nwait c 30000\nwait d 30000\nleave c") {
		rd.do(st)
	}
	require.Equal(t, "+OK", rd.Do("SAVE").String())
	n := startNative(t, redis.Dir, time.UnixMilli(rd.nowMS))
	require.Equal(t, "refused", n.play(step{verb: "acquire", owner: "b", ms: 30_000}))
	require.Equal(t, "queued", n.play(step{verb: "wait", owner: "x", ms: 30_000}))
	o := n.do(step{verb: "release", owner: "a"})
	require.Equal(t, "released", o.reply)
	require.ElementsMatch(t, []string{channel + " 0", channel + ":b 0"}, o.published)
	require.Equal(t, []string{"x"}, o.waiting)
	require.Equal(t, "refused", n.play(step{verb: "acquire", owner: "d", ms: 30_000}))
	n.Do("LPOP", queueKey)
	n.Do("ZREM", patienceKey, "b")
	n.Do("HSET", key, "b", "1")
	n.Do("PEXPIRE", key, "30000")
	require.Equal(t, "released", n.play(step{verb: "release", owner: "b"}))
	require.True(t, n.blocked("x"), "it is d's turn")
	n.Do("DEL", queueKey)
	require.False(t, n.blocked("x"), "nobody stands before it any more")
}

// TestFromLockserverToRedis: the native commands begin a story, lockserver saves, Redis loads, and the
// scripts end the story.
func TestFromLockserverToRedis(t *testing.T) {
	rnd := chance(t)
	for _, s := range readGolden(t) {
		cut, ok := cutOf(s, rnd)
		if !ok {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s/%d", s.kind, s.name, cut), func(t *testing.T) {
			dir := t.TempDir()
			before := nativePart(t, s, cut, dir)
			redis := testkit.StartRedis(t, "--dir", dir)
			rd := newRedisson(t, redis, s.kind)
			rd.remember(s, cut)
			doubt := s.seen[cut].reply == "kept"
			for i := cut + 1; i < len(s.steps); i++ {
				st, want, got := s.steps[i], s.seen[i], rd.do(s.steps[i])
				doubt = doubt && want.lock != "none" && want.reply != "got" && want.reply != "renewed" && want.reply != "kept"
				if s.kind == fenced {
					rises := int64(0)
					if want.reply == "got" {
						rises = 1
					}
					require.Equal(t, before.token+rises, got.token, "%s", st)
					before, got.token = got, want.token
				}
				if !doubt {
					require.InDelta(t, want.leaseMS, got.leaseMS, toleranceMS, "%s", st)
				}
				got.leaseMS = want.leaseMS
				require.Equal(t, want, got, "%s", st)
			}
		})
	}
}

// nativePart plays a story's steps up to cut, saves, and returns the last observation.
func nativePart(t *testing.T, s recording, cut int, dir string) (left observation) {
	t.Helper()
	elapsed := time.Duration(0)
	for _, st := range s.steps[:cut+1] {
		if st.verb == "elapse" {
			elapsed += time.Duration(st.ms) * time.Millisecond
		}
	}
	n := startNative(t, dir, time.Now().Add(-elapsed)) // in the past, so that it ends at the present time of Redis' clock
	cmp := begin(n, s.kind)
	for i, st := range s.steps[:cut+1] {
		left = n.do(st)
		cmp.compare(t, st, s.seen[i], left)
	}
	require.Equal(t, "+OK", n.Do("SAVE").String())
	return left
}

// remember sets the knowledge of the clients after the steps up to cut.
func (rd *redisson) remember(s recording, cut int) {
	for i, st := range s.steps[:cut+1] {
		if s.seen[i].reply == "got" || st.verb == "renew" {
			rd.leaseMS[st.owner] = st.ms
		}
	}
}
