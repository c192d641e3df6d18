package permitbench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/server"
	"lockserver/tests/bench/benchkit"
	"lockserver/tests/bench/floor"
)

// TestMain runs a lockserver if the first argument says so. Directives follow, as for the server program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == floor.Role {
		os.Exit(floor.Serve(context.Background(), os.Args[2:], os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == probeRole {
		os.Exit(runProbe(context.Background(), os.Args[2:], os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		if err := serve(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve runs a server until a signal ends it.
func serve(args []string) error {
	directives := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		directives[strings.TrimPrefix(args[i], "--")] = args[i+1]
	}
	srv, err := server.New(server.Options{Directives: directives})
	if err != nil {
		return err
	}
	if err := srv.Start(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
	return srv.Close()
}

// small returns a run with little work, on servers of this program.
func small(t *testing.T) *bench {
	self, err := os.Executable()
	require.NoError(t, err)
	product := benchkit.Product{Name: "lockserver", Path: self, Args: []string{"serve"}}
	return &bench{Run: benchkit.Run{Options: benchkit.Options{Rounds: 1, Quick: true}, Dir: t.TempDir(), Report: &benchkit.Report{W: io.Discard}, Progress: io.Discard},
		sizes: sizes{requests: 2000, holders: 200, pending: 1000, due: 200, burst: 1000, crowd: 1000, watch: 200 * time.Millisecond,
			rest: time.Millisecond, span: 200 * time.Millisecond},
		self: self, lockserver: product, redis: product, floor: benchkit.Product{Name: "floor", Path: self, Args: []string{floor.Role}, Pong: "OK"}}
}

// TestSectionsRun runs every section with little work, with a second lockserver instead of Redis. The figures
// mean nothing, but each exists, and has its target.
func TestSectionsRun(t *testing.T) {
	for name, targets := range map[string][]string{
		"semaphores": {"SEM beside LOCK, P=1, whole", "SEM beside RPermitExpirableSemaphore, P=16, whole",
			"SEM beside RSemaphore, P=16, without the network", "SEM beside RSemaphore, P=16, above the floor"},
		"holders":   {"200 holders beside 2,000 holders at least, P=16, whole"},
		"handoffs":  {"hand-offs a second, 1 permit(s)", "hand-offs a second, 4 permit(s)"},
		"memory":    {"bytes of a holder of one semaphore beside a holder of one shared lock"},
		"limits":    {"LIMIT.TAKE beside INCR, P=16, whole", "LIMIT.MTAKE of two beside LIMIT.TAKE, P=16, whole"},
		"others":    {"SECKILL.CART of two beside two SECKILL, P=16, whole", "SECKILL.EXTEND beside two SECKILL, P=16, whole"},
		"delay-add": {"DELAY.ADD beside XADD + ZADD, P=16, whole"},
		"delays": {"bytes of a pending entry", "lateness of an entry, p99",
			"lateness of an entry, p99, above that of a probe", "longest request while entries fall due",
			"longest request while entries fall due, above a probe's sleep and syncs",
			"longest request while entries fall due, always, above a probe's sleep and syncs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := small(t)
			ran := false
			for _, s := range b.sections() {
				if s.Name == name {
					require.NoError(t, s.Run(t.Context()))
					ran = true
				}
			}
			require.True(t, ran)
			var held []string
			for _, c := range b.Report.Record().Checks {
				held = append(held, c.What)
			}
			require.Subset(t, held, targets)
		})
	}
}

// TestHandoffsAreCounted: a second grant to the same client is no hand-off.
func TestHandoffsAreCounted(t *testing.T) {
	require.Zero(t, countHandoffs(nil))
	require.Equal(t, 2, countHandoffs([]grant{{5, 1}, {1, 0}, {2, 0}, {3, 1}, {9, 0}}))
}

// TestFreshNumbers: new entries have unique numbers across all connections.
func TestFreshNumbers(t *testing.T) {
	next := fresh()
	require.Equal(t, []int{1, 2, 3}, []int{next(), next(), next()})
}

// TestLatenessOfTheMachine: a sleep that is late by 3 ms makes three of the events late that are due each
// millisecond.
func TestLatenessOfTheMachine(t *testing.T) {
	const ms = time.Millisecond
	require.Equal(t, []time.Duration{0, 0, ms, 2 * ms, 3 * ms}, lateness([]time.Duration{0, 3 * ms, -ms}, ms, 5))
	require.Equal(t, []time.Duration{2 * ms, 3 * ms}, lateness([]time.Duration{3 * ms}, ms, 2))
}
