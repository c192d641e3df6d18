package costbench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// growthTarget is the largest cost of a request at the largest size, as a share of Redis' cost there.
const growthTarget = 1.0

// smallest is the size with which the others are compared.
const smallest = 100

// growing is a request that is measured with containers of growing size. It must leave the size as it is.
type growing struct {
	name string
	lay  func(n int) benchkit.Traffic // n requests that create the container, in order
	tie  func(s *server, n int) error // further preparation, or nil
	work func(n int) benchkit.Traffic
}

// numbered returns requests that contain one number.
func numbered(want string, words ...string) func(prefix string, number func(i int) int, rest ...string) benchkit.Traffic {
	return func(prefix string, number func(i int) int, rest ...string) benchkit.Traffic {
		return benchkit.Traffic{Want: benchkit.Always(want), Append: func(b []byte, i int) []byte {
			c := benchkit.Command(b, len(words)+1+len(rest))
			for _, w := range words {
				c = c.Arg(w)
			}
			c = c.Numbered(prefix, number(i), "")
			for _, w := range rest {
				c = c.Arg(w)
			}
			return c
		}}
	}
}

// inTurn alternates the requests of two traffics; both get the number of the pair.
func inTurn(first, second benchkit.Traffic) benchkit.Traffic {
	pick := func(i int) benchkit.Traffic {
		if i%2 == 0 {
			return first
		}
		return second
	}
	return benchkit.Traffic{
		Append: func(b []byte, i int) []byte { return pick(i).Append(b, i/2) },
		Want:   func(i int) string { return pick(i).Want(i / 2) },
	}
}

// itself returns the number of a request, for lay.
func itself(i int) int { return i }

// spread returns numbers that walk over n things in a scattered order, again and again.
func spread(n int) func(int) int { return func(i int) int { return benchkit.Scatter(i%n, n) } }

// behind returns numbers from n on, for things that are added while the first ones are removed.
func behind(n int) func(int) int { return func(i int) int { return i + n } }

func growingRequests() []growing {
	zset := func(n int) benchkit.Traffic { return addScores("z", n) }
	list := func(int) benchkit.Traffic { return numbered(":", "RPUSH", "l")("element:", itself) }
	set := func(int) benchkit.Traffic { return numbered(":", "SADD", "s")("element:", itself) }
	hash := func(int) benchkit.Traffic { return numbered(":1", "HSET", "h")("field:", itself, "value") }
	keys := func(int) benchkit.Traffic { return numbered("+OK", "SET")("key:", itself, "value", "EX", "100000") }
	stream := func(int) benchkit.Traffic {
		return numbered("$", "XADD", "x")("0-", func(i int) int { return i + 1 }, "f", "v")
	}
	return []growing{
		{name: "ZADD", lay: zset, work: func(n int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always(":0"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 4).Arg("ZADD").Arg("z").Int(int64(i*7919%n)).Numbered("element:", spread(n)(i), "")
			}}
		}},
		{name: "ZRANK", lay: zset, work: func(n int) benchkit.Traffic {
			return numbered(":", "ZRANK", "z")("element:", spread(n))
		}},
		{name: "LINDEX", lay: list, work: func(int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 3).Arg("LINDEX").Arg("l").Int(int64(i%20 - 10)) // the first and last ten
			}}
		}},
		{name: "SPOP", lay: set, work: func(n int) benchkit.Traffic {
			pop := benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, _ int) []byte {
				return benchkit.Command(b, 2).Arg("SPOP").Arg("s")
			}}
			return inTurn(pop, numbered(":1", "SADD", "s")("element:", behind(n)))
		}},
		{name: "HDEL", lay: hash, work: func(n int) benchkit.Traffic {
			return inTurn(numbered(":1", "HDEL", "h")("field:", itself), numbered(":1", "HSET", "h")("field:", behind(n), "value"))
		}},
		{name: "XADD", lay: stream, work: func(n int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 8).Arg("XADD").Arg("x").Arg("MAXLEN").Arg("~").Int(int64(n)).Numbered("0-", n+i+1, "").Arg("f").Arg("v")
			}}
		}},
		{name: "XACK", lay: stream, tie: readAll, work: func(n int) benchkit.Traffic {
			give := numbered("*1", "XCLAIM", "x", "g", "c", "0")("0-", func(i int) int { return 1 + i%n }, "FORCE")
			return inTurn(numbered(":1", "XACK", "x", "g")("0-", func(i int) int { return 1 + i%n }), give)
		}},
		{name: "EXPIRE", lay: keys, work: func(n int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always(":1"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 3).Arg("EXPIRE").Numbered("key:", spread(n)(i), "").Int(int64(10_000 + i*7919%100_000))
			}}
		}},
		{name: "SCAN", lay: keys, work: func(n int) benchkit.Traffic {
			return benchkit.Traffic{Want: benchkit.Always("*2"), Append: func(b []byte, i int) []byte {
				return benchkit.Command(b, 2).Arg("SCAN").Int(int64(spread(n)(i)))
			}}
		}},
	}
}

// readAll makes all entries of the stream pending.
func readAll(s *server, n int) error {
	if _, err := s.Do("XGROUP", "CREATE", "x", "g", "0"); err != nil {
		return err
	}
	_, err := s.Do("XREADGROUP", "GROUP", "g", "c", "COUNT", strconv.Itoa(n), "STREAMS", "x", ">")
	return err
}

// growth measures requests on containers of a hundred elements and more.
func (b *bench) growth(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## Cost against size\n\nOne connection, pipelines of 16, %s requests a figure. The table has CPU of the server in microseconds a request, Redis / lockserver, on a container (SCAN and EXPIRE: a keyspace) of so many elements. Its size stays. SPOP and "+
		"HDEL alternate with what puts another element in, XACK with what makes the entry pending again.",
		benchkit.Grouped(float64(b.sizes.probes))))
	var sizes []int
	head := []string{"request"}
	for n := smallest; n <= b.sizes.largest; n *= 10 {
		sizes = append(sizes, n)
		head = append(head, benchkit.Grouped(float64(n)))
	}
	head = append(head, "largest / smallest, Redis", "lockserver", "lockserver / Redis at the largest", "target")
	var rows [][]string
	for _, g := range growingRequests() {
		row, err := b.grow(ctx, g, sizes)
		if err != nil {
			b.Report.Failed("growth of "+g.name, err)
			continue
		}
		rows = append(rows, row)
	}
	b.Report.Table(head, rows)
}

func (b *bench) grow(ctx context.Context, g growing, sizes []int) ([]string, error) {
	row := []string{g.name}
	var first, last benchkit.Rounds
	for k, n := range sizes {
		var servers [2]*server
		for i, p := range b.pair {
			s, err := b.startFresh(ctx, p)
			if err != nil {
				return nil, err
			}
			defer s.Stop()
			servers[i] = s
		}
		var got benchkit.Rounds
		for range b.Rounds {
			for i, s := range servers {
				us, err := b.probe(ctx, s, g, n)
				if err != nil {
					return nil, fmt.Errorf("%s at %d: %w", s.Name, n, err)
				}
				got[i] = append(got[i], us)
			}
		}
		for _, s := range servers {
			s.Stop()
		}
		redis, ours := got.Medians()
		b.Say("growth: %-7s of %8d: Redis %5.2f us, lockserver %5.2f us", g.name, n, redis, ours)
		row = append(row, benchkit.Fixed(redis, 2)+" / "+benchkit.Fixed(ours, 2))
		if k == 0 {
			first = got
		}
		last = got
	}
	redisFirst, oursFirst := first.Medians()
	redisLast, oursLast := last.Medians()
	mark := b.Report.AtMost(fmt.Sprintf("CPU of %s at %s against Redis", g.name, benchkit.Grouped(float64(sizes[len(sizes)-1]))),
		last.Ratio(), growthTarget, benchkit.Times)
	return append(row, benchkit.Times(redisLast/redisFirst), benchkit.Times(oursLast/oursFirst), benchkit.Times(last.Ratio()), mark), nil
}

// probe creates the container again and returns the CPU of a request in microseconds.
func (b *bench) probe(ctx context.Context, s *server, g growing, n int) (float64, error) {
	if _, err := s.Do("FLUSHALL"); err != nil {
		return 0, err
	}
	f, err := benchkit.DialFleet(s.Addr, 1)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, err := f.Send(ctx, g.lay(n), n, 100); err != nil {
		return 0, err
	}
	if g.tie != nil {
		if err := g.tie(s, n); err != nil {
			return 0, err
		}
	}
	time.Sleep(benchkit.StartDelay)
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	sent, err := f.Send(ctx, g.work(n), b.sizes.probes, 16)
	if err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return perRequestUS(after-before, sent), err
}
