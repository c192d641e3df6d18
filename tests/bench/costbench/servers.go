package costbench

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// tools are the paths of the programs of a Redis installation.
type tools struct{ server, benchmark string }

func findTools(oracle string) (t tools, err error) {
	if t.server, err = benchkit.FindTool(oracle); err == nil {
		t.benchmark, err = benchkit.FindBeside(t.server, "redis-benchmark")
	}
	return t, err
}

// product is a server program, and how it logs that it has loaded a snapshot.
type product struct {
	benchkit.Product
	native bool // it has LOCK, UNLOCK and SECKILL as commands
	// securePort is where connections are encrypted, to which redis-benchmark then talks; 0: there is none.
	securePort int
	user       string // user for the login of redis-benchmark; empty: no login
	adminPort  int    // where it is scraped while it is measured; 0: it is not
	floor      bool   // it answers +OK to everything
}

// loadedLine is how both servers log that they have loaded a snapshot.
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

// startFresh starts a product on an empty directory of its own.
func (b *bench) startFresh(ctx context.Context, p product) (*server, error) {
	s, err := benchkit.StartFresh(ctx, p.Product, b.Dir)
	return &server{s, p}, err
}

// loadTime is how long the server says that loading its snapshot took; false if its log does not say.
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
