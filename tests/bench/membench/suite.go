// Package membench measures how many bytes of resident memory a thing takes: a string, a deadline, a
// small container, an element of a large one, a lock, a waiter, an order of a sale, an entry of a stream.
// Each is loaded into a fresh lockserver and into a fresh redis-server, and the growth is divided by how
// many there are. Then whole servers: what is resident under load and in a rest (rest.go).
//
// It owns how the things are made, when memory is read, and the targets. It must not know how a server
// works inside: it starts the programs and talks the Redis protocol to them. Resident memory does not
// mind a machine that does other work, so several servers are measured at a time, once; processor time
// does mind it.
//
// To add a thing, add a row in kinds.go.
package membench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
)

const (
	// fewest is the least number of things: with fewer, a page of memory is a large part of the growth.
	fewest = 1000
	// connections is the number of connections that load a server. They stay open while its memory is read.
	connections = 10
)

func parseCounts(list string) (counts []int, err error) {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < fewest || n%fewest != 0 {
			return nil, fmt.Errorf("-counts %s: each is a multiple of %d", text, fewest)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// bench is one run.
type bench struct {
	benchkit.Run
	list   string // numbers of things, as given
	counts []int  // numbers of things
	rest   time.Duration
	pair   [2]product // Redis first: figures of [1] are divided by those of [0]
}

// product is a server program.
type product struct {
	benchkit.Product
	native bool // it has LOCK and SECKILL as commands
}

// Suite returns this package as a row of the driver's table.
func Suite() benchkit.Suite {
	b := &bench{}
	return benchkit.Suite{
		Name: "membench", Asks: "how many bytes of memory does a key, an element, a lock, a waiter take, beside Redis?",
		Needs: []string{benchkit.NeedsRedis}, Written: benchkit.Together,
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&b.list, "counts", "10000,1000000,5000000", "membench, comma-separated: how many of each thing")
			f.DurationVar(&b.rest, "rest", 8*time.Second, "membench: how long a server rests before its memory is read")
		},
		Check: func(o benchkit.Options) (err error) {
			if o.Quick {
				b.list, b.rest = "10000", time.Second
			}
			if b.counts, err = parseCounts(b.list); err == nil && b.rest < 0 {
				err = errors.New("-rest must not be negative")
			}
			return err
		},
		Prepare: b.prepare,
		Sections: []benchkit.Section{
			{Name: thingsSection, Measures: "growth of resident memory for each thing", Parts: names(), Run: b.things},
			{Name: restSection, Measures: "resident memory of strings under load and in a rest", Run: b.rests},
		},
	}
}

func (b *bench) prepare(_ context.Context, r benchkit.Run) ([]string, error) {
	b.Run = r
	maxClients := strconv.Itoa(mostWaiters + 100)
	b.pair = [2]product{
		{Product: benchkit.Product{Name: "Redis", Path: r.Redis, Args: []string{"--appendonly", "no", "--maxclients", maxClients}}},
		{Product: benchkit.Product{Name: "lockserver", Path: r.Lockserver, Args: []string{"--maxclients", maxClients}}, native: true},
	}
	return nil, nil
}
