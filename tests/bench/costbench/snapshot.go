package costbench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"lockserver/tests/bench/benchkit"
)

// loadTarget is the longest time until lockserver has started with its snapshot, as a share of Redis'.
const loadTarget = 1.0

// snapshot makes each server save many keys and then start with that snapshot, in turn.
func (b *bench) snapshot(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## Snapshot\n\n%s keys as above. SAVE once; then, %d round(s) in turn, started on its own snapshot. The time is from the start of the process to the first PONG, and the load time that the server logs. Medians.",
		benchkit.Grouped(float64(b.sizes.keys)), b.Rounds))
	var dirs [2]string
	var saved [2]time.Duration
	var sizes [2]int64
	for i, p := range b.pair {
		var err error
		if dirs[i], saved[i], sizes[i], err = b.save(ctx, p); err != nil {
			b.Report.Failed("snapshot", err)
			return
		}
	}
	var ready, logged benchkit.Rounds
	for range b.Rounds {
		for i, p := range b.pair {
			readyMS, loggedMS, err := b.restart(ctx, p, dirs[i])
			if err != nil {
				b.Report.Failed("snapshot", err)
				return
			}
			b.Say("snapshot: %s ready after %.1f ms", p.Name, readyMS)
			ready[i] = append(ready[i], readyMS)
			logged[i] = append(logged[i], loggedMS...)
		}
	}
	b.Report.AddPair("snapshot.save.ms", benchkit.InMS(saved[0]), benchkit.InMS(saved[1]))
	b.Report.AddPair("snapshot.start.ms", benchkit.Median(ready[0]), benchkit.Median(ready[1]))
	mark := b.Report.AtMost("time to start on a snapshot", ready.Ratio(), loadTarget, benchkit.Times)
	var rows [][]string
	for i, p := range b.pair {
		cells := []string{p.Name, benchkit.Milliseconds(benchkit.InMS(saved[i])), benchkit.Mebibytes(float64(sizes[i])), benchkit.Milliseconds(benchkit.Median(ready[i])),
			benchkit.Milliseconds(benchkit.Median(logged[i])), "", ""}
		if i == 1 {
			low, high := ready.Spread()
			cells[5], cells[6] = fmt.Sprintf("%s (%s-%s)", benchkit.Times(ready.Ratio()),
				benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)), mark
		}
		rows = append(rows, cells)
	}
	b.Report.Table([]string{"server", "SAVE", "file", "ready", "logged", "ratio", "target"}, rows)
}

// save fills a server, makes it save, and ends it. It returns its directory, the time of SAVE, and the size
// in bytes.
func (b *bench) save(ctx context.Context, p product) (dir string, took time.Duration, size int64, err error) {
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return "", 0, 0, err
	}
	defer s.Stop()
	b.Say("snapshot: loading %s", s.Name)
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return "", 0, 0, err
	}
	begun := time.Now()
	if _, err := s.Do("SAVE"); err != nil {
		return "", 0, 0, err
	}
	took = time.Since(begun)
	info, err := os.Stat(filepath.Join(s.Dir, "dump.rdb"))
	if err != nil {
		return "", 0, 0, err
	}
	return s.Dir, took, info.Size(), nil
}

// restart starts a server with its snapshot. It returns the milliseconds until it was ready, and those in its
// log, if it has them.
func (b *bench) restart(ctx context.Context, p product, dir string) (readyMS float64, loggedMS []float64, err error) {
	s, err := b.start(ctx, p, dir)
	if err != nil {
		return 0, nil, err
	}
	defer s.Stop()
	if err := wantKeys(s, b.sizes.keys); err != nil {
		return 0, nil, err
	}
	if d, ok := s.loadTime(); ok {
		loggedMS = append(loggedMS, benchkit.InMS(d))
	}
	return benchkit.InMS(s.Ready), loggedMS, nil
}
