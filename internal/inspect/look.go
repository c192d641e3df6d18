package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// How much `top` asks for at a look: what fits on a large screen, and lets nobody wait.
const (
	waitersSeen = 1000
	locksSeen   = 100
	salesSeen   = 20
	queuesSeen  = 50
)

// Sample looks at the server.
func (s *Server) Sample(ctx context.Context) (*Sample, error) {
	sample := &Sample{Addr: s.addr, At: time.Now()}
	for _, part := range []func(context.Context, *Sample) error{s.lookAtServer, s.lookAtStats, s.lookAtQueues, s.lookAtLocks, s.lookAtSales} {
		if err := part(ctx, sample); err != nil {
			return nil, err
		}
	}
	return sample, nil
}

func (s *Server) lookAtServer(ctx context.Context, sample *Sample) error {
	text, err := s.rdb.Info(ctx, "server", "clients", "memory", "stats", "cpu").Result()
	if err != nil {
		return err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	integer := func(name string) int64 {
		n, _ := strconv.ParseInt(info[name], 10, 64)
		return n
	}
	seconds := func(name string) time.Duration {
		f, _ := strconv.ParseFloat(info[name], 64)
		return time.Duration(f * float64(time.Second))
	}
	sample.Version = info["lockserver_version"]
	sample.Uptime = time.Duration(integer("uptime_in_seconds")) * time.Second
	sample.Clients, sample.Blocked = integer("connected_clients"), integer("blocked_clients")
	sample.MemoryBytes, sample.Commands = integer("used_memory"), integer("total_commands_processed")
	sample.CPU = seconds("used_cpu_user") + seconds("used_cpu_sys")
	return nil
}

func (s *Server) lookAtStats(ctx context.Context, sample *Sample) error {
	f, err := fieldsOf(s.rdb.Do(ctx, "LOCK.STATS"))
	if err != nil {
		return err
	}
	sample.Stats = Stats{Held: f.integer("held"), Waiting: f.integer("waiting"), Handoffs: f.integer("handoffs"),
		Expired: f.integer("expired"), Deadlocks: f.integer("deadlocks"), StaleTokens: f.integer("stale-tokens"),
		WaitP50MS: f.number("wait-p50"), WaitP99MS: f.number("wait-p99"), WaitMaxMS: f.number("wait-max")}
	return nil
}

// lookAtQueues finds the locks that are waited for: those of the clients that have waited longest.
func (s *Server) lookAtQueues(ctx context.Context, sample *Sample) error {
	waits, err := s.waits(ctx, "COUNT", waitersSeen)
	if err != nil {
		return err
	}
	at := map[string]int{}
	for _, w := range waits {
		for _, key := range w.keys {
			at[key]++
		}
	}
	keys := slices.SortedFunc(maps.Keys(at), func(a, b string) int {
		return cmp.Or(cmp.Compare(at[b], at[a]), strings.Compare(a, b))
	})
	keys = keys[:min(len(keys), queuesSeen)]
	replies, err := s.each(ctx, keys, func(key string) []any { return []any{"LOCK.INFO", key, "COUNT", 1} })
	if err != nil {
		return err
	}
	for i, reply := range replies {
		// One that is free again, or no lock any more, is left out.
		if l, err := lockOf(keys[i], reply); err == nil && l != nil {
			sample.Contended = append(sample.Contended, *l)
		}
	}
	return nil
}

// each sends a command for each of some names at once. An error is one of the connection.
func (s *Server) each(ctx context.Context, names []string, command func(name string) []any) (replies []*redis.Cmd, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	_, err = s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, name := range names {
			replies = append(replies, p.Do(ctx, command(name)...))
		}
		return nil
	})
	var refused redis.Error
	if errors.As(err, &refused) {
		err = nil // it is that of a command, which has it, too
	}
	return replies, err
}

// lookAtLocks takes some of the locks that nobody waits for.
func (s *Server) lookAtLocks(ctx context.Context, sample *Sample) error {
	_, locks, err := s.lockPiece(ctx, Filter{}, "0", locksSeen)
	if err != nil {
		return err
	}
	for _, l := range locks {
		if !slices.ContainsFunc(sample.Contended, func(c Lock) bool { return c.Key == l.Key }) {
			sample.Held = append(sample.Held, l)
		}
	}
	slices.SortFunc(sample.Held, func(a, b Lock) int { return strings.Compare(a.Key, b.Key) })
	return nil
}

func (s *Server) lookAtSales(ctx context.Context, sample *Sample) error {
	reply, err := s.rdb.Do(ctx, "SECKILL.LIST", "0", "COUNT", salesSeen).Slice()
	if err != nil {
		return err
	}
	_, vouchers, err := pieceOf(reply)
	if err != nil {
		return err
	}
	names := make([]string, len(vouchers))
	for i, v := range vouchers {
		names[i], _ = v.(string)
	}
	replies, err := s.each(ctx, names, func(name string) []any { return []any{"SECKILL.INFO", name} })
	if err != nil {
		return err
	}
	for i, reply := range replies {
		f, err := fieldsOf(reply)
		if err != nil {
			continue // it has just been removed, or its keys are not a sale's
		}
		sale := Sale{Voucher: names[i], State: f.text("state"), Stock: f.integer("stock"), Sold: f.integer("sold"), Held: f.integer("held"),
			Confirmed: f.integer("confirmed"), EndMS: f.integer("end"), Lag: -1}
		for _, g := range f.maps("groups") {
			if lag, known := g["lag"].(int64); known {
				sale.Lag = max(sale.Lag, lag)
			}
		}
		sample.Sales = append(sample.Sales, sale)
	}
	return nil
}
