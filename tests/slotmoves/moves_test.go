package slotmoves

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server/cluster"
	"lockserver/server/slotmove"
	"lockserver/tests/testkit"
)

var (
	seedFlag = flag.Uint64("seed", 0, "the first seed; alone with -runs 1 it replays a run")
	runsFlag = flag.Int("runs", 0, "how many seeds; 0: few, or many in the long form")
	forFlag  = flag.Duration("for", 0, "go on with further seeds for this long")
)

// storyLines is how much of a history a failure shows.
const storyLines = 60

// play plays the run of a seed.
func play(seed uint64, fault string, blind bool) *world {
	w := newWorld(seed, fault)
	w.blind = blind
	for _, g := range w.groups {
		w.at(w.ms(100, 1000), g.gossip)
	}
	w.at(1, w.watch)
	w.at(500, w.save)
	w.at(w.ms(50, 400), w.trouble)
	w.at(w.ms(50, 400), w.mover)
	w.run(8000)
	w.rest(8000)
	return w
}

// rest heals everything, goes on without trouble, and lets everything come to an end.
func (w *world) rest(fromMS int64) {
	w.heal()
	for _, g := range w.groups {
		for _, p := range g.formers() {
			p.ended = true
		}
	}
	w.run(fromMS + convergeMS + 3000)
	w.still = true
	w.run(fromMS + convergeMS + 12000)
	w.end()
}

func TestMoves(t *testing.T) {
	seed := testkit.SeedOr(*seedFlag)
	runs := *runsFlag
	if runs == 0 {
		runs = testkit.Steps(60, 5000)
	}
	begun := time.Now()
	total := map[string]int{}
	done := 0
	for ; done < runs || *forFlag > 0 && time.Since(begun) < *forFlag; done++ {
		w := play(seed+uint64(done), "", false)
		for what, n := range w.moves {
			total[what] += n
		}
		if w.finding != "" {
			t.Fatalf("seed %d: %s\nagain: go test ./tests/slotmoves -run TestMoves -seed %d -runs 1\n%s", w.seed, w.finding, w.seed, w.story(storyLines))
		}
	}
	var list []string
	for _, what := range slices.Sorted(maps.Keys(total)) {
		list = append(list, fmt.Sprintf("%s %d", what, total[what]))
	}
	t.Logf("%d runs from seed %d: %v", done, seed, list)
	for kind := slotmove.Leave; kind <= slotmove.Cancel; kind++ {
		require.Positive(t, total[kind.String()], kind)
	}
}

// TestDriverEnds: a move comes to its end when a leader of either shard ends around any entry, in any way.
func TestDriverEnds(t *testing.T) {
	taken := 0
	for kind := slotmove.Leave; kind <= slotmove.Drop; kind++ {
		for how := range endings {
			for seed := range uint64(testkit.Steps(1, 60)) {
				w := newWorld(seed+1, "")
				w.kill = &killing{kind: kind, how: how}
				for _, g := range w.groups {
					w.at(w.ms(100, 1000), g.gossip)
				}
				w.at(1, w.watch)
				w.at(500, w.save)
				w.at(300, func() { w.groups[0].leader.begin("s2", []cluster.Range{{First: 0, Last: 1}}) })
				w.run(6000)
				w.rest(6000)
				require.Empty(t, w.finding, "%s, ending %d, seed %d\n%s", kind, how, w.seed, w.story(storyLines))
				require.True(t, w.kill.done || kind == slotmove.Thaw, "no %s was written", kind)
				taken += w.moves["take"]
			}
		}
	}
	require.Positive(t, taken)
}

// mostSeeds bounds the runs within which a planted fault is found.
const mostSeeds = 300

func TestPlantedFaults(t *testing.T) {
	for _, f := range faults {
		for _, blind := range []bool{false, true} {
			if blind && !f.blind {
				continue
			}
			name := f.name
			if blind {
				name += ", digests are not compared"
			}
			t.Run(name, func(t *testing.T) {
				wanted := regexp.MustCompile(f.finding)
				for seed := uint64(1); seed <= mostSeeds; seed++ {
					if w := play(seed, f.name, blind); wanted.MatchString(w.finding) {
						t.Logf("seed %d: %s", seed, w.finding)
						return
					}
				}
				t.Fatalf("%d runs have not found it", mostSeeds)
			})
		}
	}
}
