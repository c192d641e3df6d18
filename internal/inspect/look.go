package inspect

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// Limits of one refresh of `top`: enough for a large screen, and too little to delay other clients.
const (
	waitersSeen = 1000
	locksSeen   = 100
	salesSeen   = 20
	queuesSeen  = 50
)

// Sample reads the figures of the server.
func (s *Server) Sample() (*Sample, error) {
	sample := &Sample{Addr: s.addr, At: time.Now()}
	for _, part := range []func(*Sample) error{s.lookAtServer, s.lookAtStats, s.lookAtQueues, s.lookAtLocks, s.lookAtSales} {
		if err := part(sample); err != nil {
			return nil, err
		}
	}
	return sample, nil
}

func (s *Server) lookAtServer(sample *Sample) error {
	if n := len(s.conn.Parts()); n > 1 {
		sample.Shards = n
	}
	text, err := s.conn.Do("INFO", "server", "clients", "memory", "stats", "cpu")
	if err != nil {
		return err
	}
	info := map[string]string{}
	for line := range strings.Lines(text.Str) {
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
	sample.Version = releaseOf(info)
	sample.Now = serverTime(info["server_time_usec"])
	sample.Uptime = time.Duration(integer("uptime_in_seconds")) * time.Second
	sample.Clients, sample.Blocked = integer("connected_clients"), integer("blocked_clients")
	sample.MemoryBytes, sample.Commands = integer("used_memory"), integer("total_commands_processed")
	sample.CPU = seconds("used_cpu_user") + seconds("used_cpu_sys")
	return nil
}

func (s *Server) lookAtStats(sample *Sample) error {
	v, err := s.conn.Do("LOCK.STATS")
	f := call.FieldsOf(v)
	sample.Stats = Stats{Held: f.Int("held"), Waiting: f.Int("waiting"), Handoffs: f.Int("handoffs"),
		Expired: f.Int("expired"), Deadlocks: f.Int("deadlocks"), StaleTokens: f.Int("stale-tokens"),
		WaitP50MS: f.Number("wait-p50"), WaitP99MS: f.Number("wait-p99"), WaitMaxMS: f.Number("wait-max")}
	return err
}

// lookAtQueues finds locks with waiters: the locks of the clients that have waited longest.
func (s *Server) lookAtQueues(sample *Sample) error {
	waits, err := s.waits("COUNT", strconv.Itoa(waitersSeen))
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
	replies, err := s.each(keys, func(key string) []string { return []string{"LOCK.INFO", key, "COUNT", "1"} })
	for i, reply := range replies {
		// Leave out a key that is free again, or is not a lock any more.
		if l := s.lockOf(keys[i], reply); l != nil {
			sample.Contended = append(sample.Contended, *l)
		}
	}
	return err
}

// each sends a command for each name in one batch, and returns the replies, including error replies.
func (s *Server) each(names []string, command func(name string) []string) ([]resp.Value, error) {
	commands := make([][]string, len(names))
	for i, name := range names {
		commands[i] = command(name)
	}
	return s.conn.All(commands...)
}

// lookAtLocks reads some of the locks without waiters.
func (s *Server) lookAtLocks(sample *Sample) error {
	_, locks, err := s.lockPiece(Filter{}, "0", locksSeen)
	for _, l := range locks {
		if !slices.ContainsFunc(sample.Contended, func(c Lock) bool { return c.Key == l.Key }) {
			sample.Held = append(sample.Held, l)
		}
	}
	slices.SortFunc(sample.Held, func(a, b Lock) int { return strings.Compare(a.Key, b.Key) })
	return err
}

func (s *Server) lookAtSales(sample *Sample) error {
	v, err := s.conn.Do("SECKILL.LIST", "0", "COUNT", strconv.Itoa(salesSeen))
	if err != nil {
		return err
	}
	_, found := call.Piece(v)
	names := make([]string, len(found))
	for i, v := range found {
		names[i] = v.Str
	}
	replies, err := s.each(names, func(name string) []string { return []string{"SECKILL.INFO", name} })
	for i, reply := range replies {
		if reply.Kind != resp.Map {
			continue // the sale was just removed, or the keys do not belong to a sale
		}
		f := call.FieldsOf(reply)
		sale := Sale{Voucher: names[i], Shard: s.conn.ShardOf(names[i]), State: f.Text("state"), Stock: f.Int("stock"), Sold: f.Int("sold"), Held: f.Int("held"),
			Confirmed: f.Int("confirmed"), EndMS: f.Int("end"), Lag: -1}
		for _, g := range f.List("groups") {
			if lag := call.FieldsOf(g)["lag"]; !lag.IsNull() {
				sale.Lag = max(sale.Lag, lag.Int)
			}
		}
		sample.Sales = append(sample.Sales, sale)
	}
	return err
}

// releaseOf returns the server's release from the fields of INFO. Release 0.1.0 has another name for the
// field.
func releaseOf(info map[string]string) string {
	return cmp.Or(info["lockserver_release"], info["lockserver_version"])
}
