package costbench

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// tools holds the paths of the programs of a Redis installation.
type tools struct{ server, benchmark string }

func findTools(oracle string) (t tools, err error) {
	if t.server, err = benchkit.FindTool(oracle); err == nil {
		t.benchmark, err = benchkit.FindBeside(t.server, "redis-benchmark")
	}
	return t, err
}

// product is a server program with its options for a measurement.
type product struct {
	benchkit.Product
	native bool // it has LOCK, UNLOCK and SECKILL as commands
	// securePort is the encrypted port, which redis-benchmark then uses, or 0.
	securePort int
	user       string // the user of redis-benchmark, or empty
	adminPort  int    // the admin port that is scraped during the measurement, or 0
	floor      bool   // it is the floor, which replies +OK to everything
}

// loadedLine matches the log line of both servers after they have loaded a snapshot.
const loadedLine = `DB loaded from disk: ([0-9.]+) seconds`

// server is a running process of a product.
type server struct {
	*benchkit.Server
	product product
}

// start runs a product with its data in dir.
func (b *bench) start(ctx context.Context, p product, dir string) (*server, error) {
	s, err := benchkit.Start(ctx, p.Product, dir)
	return &server{s, p}, err
}

// startFresh starts a product in a new directory.
func (b *bench) startFresh(ctx context.Context, p product) (*server, error) {
	s, err := benchkit.StartFresh(ctx, p.Product, b.Dir)
	return &server{s, p}, err
}

// loadTime returns the time for loading the snapshot from the server's log, or false if the log does not have
// it.
func (s *server) loadTime() (time.Duration, bool) {
	text, err := os.ReadFile(s.Log)
	if err != nil {
		return 0, false
	}
	return parseLoadTime(string(text))
}

func parseLoadTime(log string) (time.Duration, bool) {
	m := regexp.MustCompile(loadedLine).FindStringSubmatch(log)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return time.Duration(n * float64(time.Second)), err == nil
}
