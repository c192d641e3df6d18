package replbench

import (
	"context"
	"fmt"
	"strings"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets for the cost of replicas that do not read.
const (
	// sharedTarget is the memory for three as a multiple of that for one. Each connection also has its own
	// buffers.
	sharedTarget = 1.25
	// limitBytes is client-output-buffer-limit in the last row. boundTarget is the largest growth of memory
	// by then, compared with a server without replicas.
	limitBytes  = 16 << 20
	boundTarget = 1.5 * limitBytes
)

// slowRow is one measurement of replicas that do not read.
type slowRow struct {
	replicas int
	limit    string // value of client-output-buffer-limit
}

func slowRows() []slowRow {
	return []slowRow{
		{0, "replica 256mb 64mb 60"}, {1, "replica 256mb 64mb 60"}, {3, "replica 256mb 64mb 60"}, {3, fmt.Sprintf("replica %d 0 0", limitBytes)},
	}
}

// slow measures the memory that a master keeps for replicas that do not read.
func (b *bench) slow(ctx context.Context) error {
	b.Report.Text(fmt.Sprintf("## Replicas that do not read\n\n%s keys of %d bytes are set again and again, %s of history, while replicas that "+
		"have their snapshot read nothing. Growth of the master's resident memory by that, and how many replicas it then has.",
		benchkit.Grouped(keyRange), len(value), benchkit.Mebibytes(float64(b.sizes.kept))))
	var rows [][]string
	var grown [2][]float64
	for _, r := range slowRows() {
		row := []string{fmt.Sprint(r.replicas), r.limit}
		for i, p := range b.pair {
			bytes, left, err := b.slowOnce(ctx, p, r)
			if err != nil {
				return err
			}
			b.Say("slow: %-10s %d replicas, %s: %s, %s left", p.Name, r.replicas, r.limit, benchkit.Mebibytes(bytes), left)
			grown[i] = append(grown[i], bytes)
			row = append(row, benchkit.Mebibytes(bytes), left)
		}
		rows = append(rows, append(row, ""))
	}
	ours := grown[1]
	for i, what := range []string{"none", "one", "three", "limited"} {
		b.Report.AddPair("replication.slow."+what+".bytes", grown[0][i], grown[1][i])
	}
	rows[2][6] = "beside one: " + b.Report.AtMost("memory of three slow replicas beside one", ours[2]/ours[1], sharedTarget, benchkit.Times)
	rows[3][6] = "more than without: " + b.Report.AtMost("memory of slow replicas under a limit of "+benchkit.Mebibytes(limitBytes), ours[3]-ours[0], boundTarget, benchkit.Mebibytes)
	b.Report.Table([]string{"replicas", "client-output-buffer-limit", "Redis", "left", "lockserver", "left", "target"}, rows)
	return nil
}

// slowOnce measures one server.
func (b *bench) slowOnce(ctx context.Context, p benchkit.Product, r slowRow) (grown float64, left string, err error) {
	s, err := b.start(ctx, p, "--repl-diskless-sync-delay", "0", "--client-output-buffer-limit", r.limit)
	if err != nil {
		return 0, "", err
	}
	defer s.Stop()
	if _, err := s.Fill(ctx, set(keyRange), keyRange); err != nil {
		return 0, "", err
	}
	for range r.replicas {
		f, err := follow(s)
		if err != nil {
			return 0, "", err
		}
		defer f.close()
		if err := f.acknowledge(); err != nil { // from then on it is silent
			return 0, "", err
		}
	}
	if err := online(ctx, s, r.replicas); err != nil {
		return 0, "", err
	}
	if err := benchkit.Rest(ctx, time.Second); err != nil {
		return 0, "", err
	}
	before, err := s.Resident()
	if err != nil {
		return 0, "", err
	}
	if _, err := s.Fill(ctx, set(keyRange), b.sizes.kept/len(appendSet(nil, 0))); err != nil {
		return 0, "", err
	}
	if err := benchkit.Rest(ctx, time.Second); err != nil {
		return 0, "", err
	}
	after, err := s.Resident()
	if err != nil {
		return 0, "", err
	}
	info, err := s.Do("INFO", "replication")
	_, rest, _ := strings.Cut(info, "connected_slaves:")
	left, _, _ = strings.Cut(rest, "\r")
	return float64(after - before), left, err
}
