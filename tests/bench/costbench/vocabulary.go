package costbench

import (
	"context"
	"fmt"
	"io"

	"lockserver/tests/bench/benchkit"
)

// vocabulary returns the cases beyond the first commands.
func vocabulary() []kase {
	return []kase{
		{name: "LPUSH", wide: true, command: plain("LPUSH", "list", value), keys: keyRange},
		{name: "LPOP", wide: true, traffic: popOne, supply: fillList},
		{name: "LRANGE", wide: true, weight: 5, command: plain("LRANGE", "list", "0", "99"), keys: keyRange, prepare: presetList},
		{name: "ZADD", wide: true, command: plain("ZADD", "zset", "__rand_int__", "element:__rand_int__"), keys: keyRange},
		{name: "ZRANK", wide: true, command: plain("ZRANK", "zset", "element:__rand_int__"), keys: keyRange, prepare: presetZSet},
		{name: "ZRANGE", wide: true, command: plain("ZRANGE", "zset", "1000", "1009", "WITHSCORES"), keys: keyRange, prepare: presetZSet},
		{name: "SINTER", wide: true, weight: 5, command: plain("SINTER", "few", "many"), keys: keyRange, prepare: presetSets},
		{name: "XREADGROUP+XACK", wide: true, traffic: readAndAcknowledge, supply: fillStream},
		{name: "PUBLISH-1", wide: true, command: plain("PUBLISH", "news", value), keys: keyRange, listeners: 1},
		{name: "PUBLISH-100", wide: true, weight: 20, command: plain("PUBLISH", "news", value), keys: keyRange, listeners: 100},
		{name: "MULTI-10", wide: true, weight: 5, traffic: transactions},
	}
}

// popOne removes one element from a list.
func popOne(product, int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always("$64"), Append: func(b []byte, _ int) []byte {
		return benchkit.Command(b, 2).Arg("LPOP").Arg("list")
	}}
}

// pushMany returns requests that push 100 elements each.
func pushMany() benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, _ int) []byte {
		c := benchkit.Command(b, 102).Arg("RPUSH").Arg("list")
		for range 100 {
			c = c.Arg(value)
		}
		return c
	}}
}

// fillList makes a list of at least n elements.
func fillList(ctx context.Context, s *server, n int) error {
	_, err := s.Fill(ctx, pushMany(), n/100+1000)
	return err
}

func presetList(ctx context.Context, s *server) error { return fillList(ctx, s, 0) }

// presetZSet creates a sorted set of keyRange members, each with its number as the score.
func presetZSet(ctx context.Context, s *server) error {
	_, err := s.Fill(ctx, addScores("zset", keyRange), keyRange)
	return err
}

// addScores gives each of n members its number as its score.
func addScores(key string, n int) benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, i int) []byte {
		k := benchkit.Scatter(i, n)
		return benchkit.Command(b, 4).Arg("ZADD").Arg(key).Int(int64(k)).Numbered("element:", k, "")
	}}
}

// presetSets creates a set of 100 members and one of 1,000 that has half of them.
func presetSets(ctx context.Context, s *server) error {
	add := func(key string, first, n int) error {
		_, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":"), Append: func(b []byte, i int) []byte {
			return benchkit.Command(b, 3).Arg("SADD").Arg(key).Numbered("element:", first+i%n, "")
		}}, 1000)
		return err
	}
	if err := add("few", 0, 100); err != nil {
		return err
	}
	return add("many", 50, 1000)
}

// readAndAcknowledge alternates: it reads the next order of a group, and acknowledges an order that was read
// before.
func readAndAcknowledge(product, int) benchkit.Traffic {
	return benchkit.Traffic{
		Append: func(b []byte, i int) []byte {
			if i%2 == 0 {
				return benchkit.Command(b, 9).Arg("XREADGROUP").Arg("GROUP").Arg("g").Arg("c").Arg("COUNT").Arg("1").
					Arg("STREAMS").Arg("orders").Arg(">")
			}
			return benchkit.Command(b, 4).Arg("XACK").Arg("orders").Arg("g").Numbered("0-", i/2+1, "")
		},
		Want: func(i int) string {
			if i%2 == 0 {
				return "*1"
			}
			return ":1"
		},
	}
}

// fillStream creates a stream with n/2 pending entries, followed by the same number of unread ones.
func fillStream(ctx context.Context, s *server, n int) error {
	one, err := benchkit.DialFleet(s.Addr, 1) // only one connection, because ids must rise
	if err != nil {
		return err
	}
	defer one.Close()
	add := benchkit.Traffic{Want: benchkit.Always("$"), Append: func(b []byte, i int) []byte {
		return benchkit.Command(b, 5).Arg("XADD").Arg("orders").Numbered("0-", i+1, "").Arg("order").Arg(value)
	}}
	if _, err := one.Send(ctx, add, n+100, 100); err != nil {
		return err
	}
	if _, err := s.Do("XGROUP", "CREATE", "orders", "g", "0"); err != nil {
		return err
	}
	read := benchkit.Traffic{Want: benchkit.Always("*1"), Append: func(b []byte, _ int) []byte {
		return benchkit.Command(b, 9).Arg("XREADGROUP").Arg("GROUP").Arg("g").Arg("c").Arg("COUNT").Arg("100").
			Arg("STREAMS").Arg("orders").Arg(">")
	}}
	_, err = one.Send(ctx, read, (n/2+99)/100+1, 1)
	return err
}

// transactions returns requests with MULTI, ten times SET, and EXEC; each counts as one request.
func transactions(product, int) benchkit.Traffic {
	set := setKeys()
	return benchkit.Traffic{Lead: 11, Want: benchkit.Always("*10"), Append: func(b []byte, i int) []byte {
		b = benchkit.Command(b, 1).Arg("MULTI")
		for k := range 10 {
			b = set.Append(b, (i*10+k)%keyRange)
		}
		return benchkit.Command(b, 1).Arg("EXEC")
	}}
}

// listen opens connections that subscribe to the channel "news" and read all messages.
func listen(s *server, n int) (*benchkit.Fleet, error) {
	f, err := benchkit.DialFleet(s.Addr, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	for _, c := range f.Conns {
		err := c.Write(benchkit.Command(nil, 2).Arg("SUBSCRIBE").Arg("news"))
		if err == nil {
			err = c.Expect("*3")
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: SUBSCRIBE: %w", s.Name, err)
		}
		go func() { _, _ = io.Copy(io.Discard, c) }() // ends when the connection is closed
	}
	return f, nil
}
