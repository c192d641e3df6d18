package replbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
)

// loadTarget is the longest time for a replica's load, as a share of Redis'.
const loadTarget = 1.0

// loading is one way in which a snapshot gets into a replica.
type loading struct {
	name     string
	diskless string // the directive repl-diskless-load
	marked   bool
	again    bool // the replica already has the same data
}

func loadings() []loading {
	return []loading{
		{name: "into an empty replica, by way of a file", diskless: "disabled"},
		{name: "into an empty replica, without a file", diskless: "on-empty-db", marked: true},
		{name: "in place of as many keys, by way of a file", diskless: "disabled", again: true},
	}
}

// load measures how soon a replica has the data that a master sends.
func (b *bench) load(ctx context.Context) error {
	snapshot, err := b.snapshot(ctx)
	if err != nil {
		return err
	}
	b.Report.Text(fmt.Sprintf("## A replica loads\n\nA snapshot of %s keys with values of %d bytes (%s, written by Redis), which a master in "+
		"the generator sends from memory. The time is from its +FULLRESYNC until the replica's link is up. INFO is asked for all the time; held up is the "+
		"longest that it took. The servers in turn, medians of %d round(s).", benchkit.Grouped(float64(b.sizes.keys)), len(value),
		benchkit.Mebibytes(float64(len(snapshot))), b.Rounds))
	var rows [][]string
	for _, l := range loadings() {
		var took, held benchkit.Rounds
		for range b.Rounds {
			for i, p := range b.pair {
				tookMS, heldMS, err := b.loadOnce(ctx, p, l, snapshot)
				if err != nil {
					return err
				}
				b.Say("load: %-10s %s: %.0f ms, held up %.1f ms", p.Name, l.name, tookMS, heldMS)
				took[i], held[i] = append(took[i], tookMS), append(held[i], heldMS)
			}
		}
		rows = append(rows, b.loadRow(l, took, held))
	}
	b.Report.Table([]string{"", "Redis", "lockserver", "ratio", "target", "Redis held up", "lockserver held up"}, rows)
	return nil
}

func (b *bench) loadRow(l loading, took, held benchkit.Rounds) []string {
	redis, ours := took.Medians()
	redisHeld, oursHeld := held.Medians()
	low, high := took.Spread()
	name := "replication.load." + strings.ReplaceAll(l.diskless, "-", "_")
	if l.again {
		name += ".again"
	}
	b.Report.AddPair(name+".ms", redis, ours)
	b.Report.AddPair(name+".held_ms", redisHeld, oursHeld)
	return []string{l.name, benchkit.Milliseconds(redis), benchkit.Milliseconds(ours),
		fmt.Sprintf("%s (%s-%s)", benchkit.Times(took.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)),
		b.Report.AtMost("a replica's load, "+l.name, took.Ratio(), loadTarget, benchkit.Times),
		benchkit.Milliseconds(redisHeld), benchkit.Milliseconds(oursHeld)}
}

// snapshot makes Redis write a snapshot.
func (b *bench) snapshot(ctx context.Context) ([]byte, error) {
	s, err := b.start(ctx, b.pair[0])
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	if _, err := s.Fill(ctx, set(b.sizes.keys), b.sizes.keys); err != nil {
		return nil, err
	}
	if _, err := s.Do("SAVE"); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(s.Dir, "dump.rdb"))
}

// loadOnce makes one server load. It returns the time of the load, and the longest time in which it answered
// no client.
func (b *bench) loadOnce(ctx context.Context, p benchkit.Product, l loading, snapshot []byte) (tookMS, heldMS float64, err error) {
	s, err := b.start(ctx, p, "--repl-diskless-load", l.diskless)
	if err != nil {
		return 0, 0, err
	}
	defer s.Stop()
	m, err := lead(snapshot, l.marked)
	if err != nil {
		return 0, 0, err
	}
	defer m.close()
	took, held, err := m.loadedBy(ctx, s)
	if err == nil && l.again {
		if _, err = s.Do("REPLICAOF", "NO", "ONE"); err == nil {
			took, held, err = m.loadedBy(ctx, s)
		}
	}
	if err == nil {
		var keys string
		if keys, err = s.Do("DBSIZE"); err == nil && keys != strconv.Itoa(b.sizes.keys) {
			err = fmt.Errorf("%s has loaded %s keys", s.Name, keys)
		}
	}
	return benchkit.InMS(took), benchkit.InMS(held), err
}

// loadedBy makes a server follow the master, and waits until it has loaded.
func (m *master) loadedBy(ctx context.Context, s *benchkit.Server) (took, held time.Duration, err error) {
	c, err := benchkit.Dial(s.Addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	if _, err := c.Do("REPLICAOF", "127.0.0.1", m.port()); err != nil {
		return 0, 0, err
	}
	asked, waits := time.Time{}, []time.Duration{0}
	for deadline := time.Now().Add(benchkit.Patience); time.Now().Before(deadline); {
		begun := time.Now()
		info, err := c.Do("INFO", "replication")
		if err != nil {
			return 0, 0, err
		}
		waits = append(waits, time.Since(begun))
		select {
		case asked = <-m.asked:
			waits = waits[len(waits)-1:]
		default:
		}
		if !asked.IsZero() && strings.Contains(info, "master_link_status:up") {
			return time.Since(asked), slices.Max(waits), nil
		}
		if err := benchkit.Rest(ctx, time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, errors.New(s.Name + " has not loaded what its master sent: " + s.LogTail())
}
