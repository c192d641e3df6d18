package hostile

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/tests/grammar"
	"lockserver/tests/plant"
)

var (
	seedFlag    = flag.Uint64("seed", 1, "the first scenario; 0: one by chance")
	minutesFlag = flag.Float64("minutes", 0.03, "how long to play")
	scriptFlag  = flag.String("script", "", "a file with a scenario to play, many times if its commands have to meet")
	keepFlag    = flag.String("keep", "", "a directory for the scripts of what is found")
)

// commandsPerScenario is the number of commands that a server gets.
const commandsPerScenario = 1500

// mostShrunk is the largest number of commands in the shrunk scenario of a planted fault.
const mostShrunk = 12

// hunt is the search for the planted faults.
var hunt = plant.Hunt{FindWithin: 150 * time.Second, CleanFor: 2 * time.Second, Parallel: true, Search: func(ctx context.Context) (string, error) {
	begun := time.Now()
	for seed := uint64(1); ; { // a fault that depends on the scheduler may not shrink, but the next finding may
		r, tally, err := search(ctx, seed, true)
		if r == nil {
			return tally.String(), err
		}
		if r.scenario.commandCount() <= mostShrunk {
			plant.Found(time.Since(begun), r)
			return "", nil
		}
		seed = r.seed + 1
	}
}}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(beServer(text))
	}
	os.Exit(hunt.Main(m))
}

// tally counts the work that was done.
type tally struct {
	seed                uint64
	scenarios, commands int
	took                time.Duration
}

func (t tally) String() string {
	return fmt.Sprintf("%d commands in %d scenarios from seed %d on, %.0f s: nothing found", t.commands, t.scenarios, t.seed, t.took.Seconds())
}

// report is a finding with the scenario that shows it.
type report struct {
	finding
	scenario scenario
	seed     uint64
	tries    int // replays of the whole scenario that found nothing; then it is not shrunk
}

func (r report) String() string {
	s := fmt.Sprintf("%s: %s\n\nscenario %d", r.kind, r.what, r.seed)
	if r.tries > 0 {
		s += fmt.Sprintf(", which did not show it again in %d tries; it is", r.tries)
	} else {
		s += fmt.Sprintf(", shrunk to %d commands", r.scenario.commandCount())
	}
	return s + " (-script plays it again):\n\n" + r.scenario.script()
}

// search plays scenarios until ctx ends or one has a finding, which is then shrunk.
func search(ctx context.Context, seed uint64, brief bool) (*report, tally, error) {
	t := tally{seed: seed}
	begun := time.Now()
	g := grammar.New()
	values, err := payloads()
	if err != nil {
		return nil, t, err
	}
	g.SetPayloads(values)
	for ; ctx.Err() == nil; seed++ {
		sc := newScenario(seed, g, commandsPerScenario)
		f, err := playAnywhere(sc, allCare)
		if err != nil {
			return nil, t, fmt.Errorf("scenario %d: %w", seed, err)
		}
		t.scenarios++
		t.commands += sc.commandCount()
		t.took = time.Since(begun)
		if f != nil {
			r := shrunk(sc, *f, brief)
			r.seed = seed
			return &r, t, nil
		}
	}
	return nil, t, nil
}

// playAnywhere plays a scenario in a new directory.
func playAnywhere(sc scenario, how care) (*finding, error) {
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return play(sc, dir, how)
}

// TestHostile: no commands of clients end the server, hang it, mix up replies or lose data.
func TestHostile(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*minutesFlag*float64(time.Minute)))
	defer cancel()
	r, tally, err := search(ctx, seed, false)
	require.NoError(t, err)
	if r != nil {
		if *keepFlag != "" {
			name := filepath.Join(*keepFlag, fmt.Sprintf("hostile-%d.txt", r.seed))
			require.NoError(t, os.WriteFile(name, []byte("# "+strings.ReplaceAll(r.what, "\n", "\n# ")+"\n"+r.scenario.script()), 0o600))
		}
		t.Fatal(r.String())
	}
	t.Log(tally)
}

// scriptTries is how often a script is played, because its finding may depend on the scheduler.
const scriptTries = 20

// TestScript plays the script in -script, and shrinks it further.
func TestScript(t *testing.T) {
	if *scriptFlag == "" {
		return
	}
	text, err := os.ReadFile(*scriptFlag)
	require.NoError(t, err)
	sc, err := parseScript(string(text))
	require.NoError(t, err)
	for range scriptTries {
		f, err := playAnywhere(sc, allCare)
		require.NoError(t, err)
		if f != nil {
			t.Fatal(shrunk(sc, *f, false))
		}
	}
}

// TestScriptsAreWhole: a printed script is equal to the scenario that was played.
func TestScriptsAreWhole(t *testing.T) {
	g := grammar.New()
	values, err := payloads()
	require.NoError(t, err)
	g.SetPayloads(values)
	for seed := range uint64(5) {
		sc := newScenario(seed, g, 300)
		read, err := parseScript(sc.script())
		require.NoError(t, err)
		require.Equal(t, sc.script(), read.script())
		require.Equal(t, sc.commandCount(), read.commandCount())
	}
}
