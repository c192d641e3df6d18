package lockservertest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockserver/server/testmode"
)

// ChaosOptions say under which faults Chaos runs a program.
type ChaosOptions struct {
	Seeds int      // how many are tried; 0: 100
	Rate  float64  // the probability that a command is struck; 0: 0.05
	Kinds []string // what strikes: dropbefore, dropafter, delay, expire, restart; nil: all of these
	// MaxDelay is the longest delay of a reply, by the server's clock; 0: a second.
	MaxDelay time.Duration
}

// The variables of the environment that repeat what Chaos found.
const (
	chaosSeed   = "LOCKSERVER_CHAOS_SEED"
	chaosReplay = "LOCKSERVER_CHAOS_REPLAY"
)

// Chaos runs a program under the faults of one seed after the other (TEST.CHAOS), each time on a new server.
// An error of the program fails the test. The test then says how to repeat the run, and which fault alone is
// enough, if one is.
//
// The program connects to srv.Addr. It returns an error if the data at the end are wrong, and nil if they are
// right or if it had to give up. The methods of srv are not struck by faults.
//
//	lockservertest.Chaos(t, lockservertest.ChaosOptions{}, func(srv *lockservertest.Server) error {
//		client := redis.NewClient(&redis.Options{Addr: srv.Addr})
//		defer client.Close()
//		...
//	})
func Chaos(t testing.TB, o ChaosOptions, program func(srv *Server) error) {
	t.Helper()
	if r := findRace(t, o, program); r != nil {
		t.Fatal(r.report(t.Name()))
	}
}

// race is a run of a program that went wrong.
type race struct {
	err    error
	seed   uint64
	struck []testmode.Strike
	alone  string // a strike that is enough; empty: none of them is
}

func (r *race) report(test string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lockservertest: seed %d: %v\nstruck:\n", r.seed, r.err)
	for _, s := range r.struck {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	if r.alone != "" {
		fmt.Fprintf(&b, "one of them is enough: %s=%q go test -run '^%s$'\n", chaosReplay, r.alone, test)
	}
	fmt.Fprintf(&b, "again: %s=%d go test -run '^%s$'", chaosSeed, r.seed, test)
	return b.String()
}

// findRace returns the first run that goes wrong; nil: none does.
func findRace(t testing.TB, o ChaosOptions, program func(srv *Server) error) *race {
	t.Helper()
	if text := os.Getenv(chaosReplay); text != "" {
		strikes := parseStrikes(t, text)
		struck, err := underStrikes(t, strikes, program)
		return raceOf(err, 0, struck)
	}
	first, last := uint64(1), uint64(100)
	if o.Seeds > 0 {
		last = uint64(o.Seeds)
	}
	if text := os.Getenv(chaosSeed); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("lockservertest: %s: %v", chaosSeed, err)
		}
		first, last = seed, seed
	}
	for seed := first; seed <= last; seed++ {
		struck, err := underSeed(t, o, seed, program)
		if r := raceOf(err, seed, struck); r != nil {
			r.alone = enough(t, struck, program)
			return r
		}
	}
	return nil
}

func raceOf(err error, seed uint64, struck []testmode.Strike) *race {
	if err == nil {
		return nil
	}
	return &race{err: err, seed: seed, struck: struck}
}

// triedAlone bounds how many strikes enough tries.
const triedAlone = 20

// enough returns one of the strikes that alone makes the program go wrong; empty: none does.
func enough(t testing.TB, struck []testmode.Strike, program func(srv *Server) error) string {
	t.Helper()
	for _, s := range struck[:min(len(struck), triedAlone)] {
		if _, err := underStrikes(t, []testmode.Strike{s}, program); err != nil {
			return s.String()
		}
	}
	return ""
}

// parseStrikes reads the strikes of LOCKSERVER_CHAOS_REPLAY, which have blanks between them.
func parseStrikes(t testing.TB, text string) (list []testmode.Strike) {
	t.Helper()
	for word := range strings.FieldsSeq(text) {
		s, ok := testmode.ParseStrike(word)
		if !ok {
			t.Fatalf("lockservertest: %s: %q is no strike", chaosReplay, word)
		}
		list = append(list, s)
	}
	return list
}

// underSeed runs the program once with the faults of a seed, and returns what it returned and what struck.
func underSeed(t testing.TB, o ChaosOptions, seed uint64, program func(srv *Server) error) ([]testmode.Strike, error) {
	t.Helper()
	rate := o.Rate
	if rate == 0 {
		rate = 0.05
	}
	words := []string{"TEST.CHAOS", "SEED", strconv.FormatUint(seed, 10), "RATE", strconv.FormatFloat(rate, 'g', -1, 64)}
	if len(o.Kinds) > 0 {
		words = append(words, "KINDS", strings.Join(o.Kinds, ","))
	}
	if o.MaxDelay > 0 {
		words = append(words, "MAXDELAY", strconv.FormatInt(max(1, o.MaxDelay.Milliseconds()), 10))
	}
	return underChaos(t, words, program)
}

// underStrikes runs the program once with these faults.
func underStrikes(t testing.TB, strikes []testmode.Strike, program func(srv *Server) error) ([]testmode.Strike, error) {
	t.Helper()
	words := []string{"TEST.CHAOS", "REPLAY"}
	for _, s := range strikes {
		words = append(words, s.String())
	}
	return underChaos(t, words, program)
}

// underChaos runs the program once on a server of its own.
func underChaos(t testing.TB, begin []string, program func(srv *Server) error) ([]testmode.Strike, error) {
	t.Helper()
	srv := Run(t)
	defer srv.Close()
	srv.Do(begin...)
	err := program(srv)
	srv.Chaos().End()
	return srv.Chaos().Struck(), err
}
