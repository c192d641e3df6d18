//go:build raft && linux

package moves

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// trouble is something that happens to members, and its end.
type trouble struct {
	name       string
	begin, end func(places []int)
}

// saboteur harms a cluster, and mends it.
type saboteur struct {
	*cluster
	random *rand.Rand
	counts map[string]int
	// changes gets the states of moves as they change.
	changes <-chan string
}

// killing kills members, and starts them again.
func (s *saboteur) killing() trouble {
	return trouble{"killed", func(places []int) {
		for _, p := range places {
			s.kill(p)
		}
	}, func(places []int) {
		for _, p := range places {
			s.launch(p)
		}
	}}
}

// pausing stops members, and lets them go on.
func (s *saboteur) pausing() trouble {
	return trouble{"paused", func(places []int) {
		for _, p := range places {
			s.at(p).Pause()
		}
	}, func(places []int) {
		for _, p := range places {
			s.at(p).GoOn()
		}
	}}
}

// cutting cuts members off from those places that which picks, in one direction or in both.
func (s *saboteur) cutting(name string, which func(member, other int) bool) trouble {
	return trouble{name, func(places []int) {
		ways := 1 + s.random.IntN(3)
		for _, p := range places {
			for other := clients; other < len(s.running); other++ {
				if other == p || !which(p, other) {
					continue
				}
				if other != clients {
					s.network.cut(p, other, ways&1 != 0)
				}
				s.network.cut(other, p, ways&2 != 0)
			}
		}
	}, func([]int) { s.network.mend() }}
}

// victims returns members: the leader of a shard, a follower, the leaders of all shards, or a whole shard.
func (s *saboteur) victims() (places []int, name string) {
	shard := s.random.IntN(len(s.groups))
	leader := func(shard int) int {
		if p := s.leader(shard); p >= 0 {
			return p
		}
		return shard*membersOf + s.random.IntN(membersOf)
	}
	switch s.random.IntN(8) {
	case 0, 1, 2, 3:
		return []int{leader(shard)}, fmt.Sprintf("the leader of s%d", shard+1)
	case 4, 5:
		p := leader(shard)
		return []int{shard*membersOf + (p+1)%membersOf}, fmt.Sprintf("a follower of s%d", shard+1)
	case 6:
		for shard := range s.groups {
			places = append(places, leader(shard))
		}
		return places, "all leaders"
	default:
		for i := range membersOf {
			places = append(places, shard*membersOf+i)
		}
		return places, fmt.Sprintf("all members of s%d", shard+1)
	}
}

// upTo returns a random time of at least the given milliseconds.
func (s *saboteur) upTo(least, more int) time.Duration {
	return time.Duration(least+s.random.IntN(more)) * time.Millisecond
}

// await waits for a moment of a move, but not for long, or not at all.
func (s *saboteur) await() (moment string) {
	states := []string{"snapshotting", "streaming", "failover-paused", "failover-granted", "success"}
	state := states[s.random.IntN(len(states))]
	if s.random.IntN(3) == 0 {
		return "at any time"
	}
	late := time.After(2 * time.Second)
	for {
		select {
		case is := <-s.changes:
			if is == state {
				return "when a move is " + state
			}
		case <-late:
			return "while no move is " + state
		}
	}
}

// harm lets something happen to members for a while.
func (s *saboteur) harm() {
	same := func(a, b int) bool { return a/membersOf == b/membersOf }
	all := []trouble{s.killing(), s.killing(), s.pausing(),
		s.cutting("cut off", func(int, int) bool { return true }),
		s.cutting("cut off from their shard", func(p, other int) bool { return other != clients && same(p, other) }),
		s.cutting("cut off from other shards", func(p, other int) bool { return other != clients && !same(p, other) }),
		s.cutting("cut off from other shards", func(p, other int) bool { return other != clients && !same(p, other) }),
	}
	moment := s.await()
	places, who := s.victims()
	what := all[s.random.IntN(len(all))]
	s.t.Logf("%s (%v): %s, %s", who, places, what.name, moment)
	s.counts[what.name]++
	what.begin(places)
	time.Sleep(s.upTo(20, 2000))
	what.end(places)
	time.Sleep(s.upTo(0, 3500))
}
