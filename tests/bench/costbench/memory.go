package costbench

import (
	"context"
	"fmt"

	"lockserver/tests/bench/benchkit"
)

// memoryTarget is the largest resident memory of the loaded server as a share of Redis'. idleTargetKiB is the
// largest memory of a connection.
const (
	memoryTarget  = 1.3
	idleTargetKiB = 30
)

// footprint holds the resident memory of a server, in bytes.
type footprint struct{ empty, loaded, rested int64 }

// memory loads many small keys into each server and reads its memory.
func (b *bench) memory(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## Memory\n\n%s keys of 16 bytes with values of %d bytes. The table has resident memory (VmRSS) of the empty server, right after loading, and as it is after %v without a request. The rested figure is compared.",
		benchkit.Grouped(float64(b.sizes.keys)), valueBytes, b.sizes.idle))
	var got [2]footprint
	for i, p := range b.pair {
		f, err := b.footprint(ctx, p)
		if err != nil {
			b.Report.Failed("memory", err)
			return
		}
		got[i] = f
	}
	ratio := float64(got[1].rested) / float64(got[0].rested)
	b.Report.AddPair("memory.keys.bytes", float64(got[0].rested), float64(got[1].rested))
	b.Report.AddFigure("memory.keys.count", float64(b.sizes.keys))
	mark := b.Report.AtMost(fmt.Sprintf("memory of %s keys", benchkit.Grouped(float64(b.sizes.keys))), ratio, memoryTarget, benchkit.Times)
	var rows [][]string
	for i, f := range got {
		cells := []string{b.pair[i].Name, benchkit.Mebibytes(float64(f.empty)), benchkit.Mebibytes(float64(f.loaded)),
			benchkit.Mebibytes(float64(f.rested)),
			benchkit.Fixed(float64(f.rested-f.empty)/float64(b.sizes.keys), 0), "", ""}
		if i == 1 {
			cells[5], cells[6] = benchkit.Times(ratio), mark
		}
		rows = append(rows, cells)
	}
	b.Report.Table([]string{"server", "empty", "loaded", "rested", "bytes per key", "ratio", "target"}, rows)
}

func (b *bench) footprint(ctx context.Context, p product) (footprint, error) {
	var f footprint
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return f, err
	}
	defer s.Stop()
	b.Say("memory: loading %s", s.Name)
	if f.empty, err = s.Resident(); err != nil {
		return f, err
	}
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return f, err
	}
	if f.loaded, err = s.Resident(); err != nil {
		return f, err
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return f, err
	}
	f.rested, err = s.Resident()
	return f, err
}

// loadKeys sets n keys and checks that they are there.
func (s *server) loadKeys(ctx context.Context, n int) error {
	sent, err := s.Fill(ctx, setKeys(), n)
	if err != nil {
		return err
	}
	return wantKeys(s, sent)
}

// idle opens many connections that send PING twice and then nothing.
func (b *bench) idle(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## Idle connections\n\n%s connections that have sent two PINGs; growth of resident memory, read "+
		"after %v without a request.", benchkit.Grouped(float64(b.sizes.connections)), b.sizes.idle))
	var got [2]footprint
	for i, p := range b.pair {
		f, err := b.connected(ctx, p)
		if err != nil {
			b.Report.Failed("idle", err)
			return
		}
		got[i] = f
	}
	perConn := func(f footprint) float64 { return float64(f.rested-f.empty) / float64(b.sizes.connections) }
	b.Report.AddPair("memory.connection.bytes", perConn(got[0]), perConn(got[1]))
	mark := b.Report.AtMost("an idle connection", perConn(got[1]), idleTargetKiB<<10, benchkit.Kibibytes)
	var rows [][]string
	for i, f := range got {
		cells := []string{b.pair[i].Name, benchkit.Mebibytes(float64(f.empty)), benchkit.Mebibytes(float64(f.rested)), benchkit.Kibibytes(perConn(f)), "", ""}
		if i == 1 {
			cells[4], cells[5] = benchkit.Times(perConn(got[1])/perConn(got[0])), mark
		}
		rows = append(rows, cells)
	}
	b.Report.Table([]string{"server", "before", "connected", "per connection", "ratio", "target"}, rows)
}

func (b *bench) connected(ctx context.Context, p product) (footprint, error) {
	var f footprint
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return f, err
	}
	defer s.Stop()
	b.Say("idle: connecting to %s", s.Name)
	if f.empty, err = s.Resident(); err != nil {
		return f, err
	}
	fleet, err := benchkit.DialFleet(s.Addr, b.sizes.connections)
	if err != nil {
		return f, fmt.Errorf("%s: %w (is the limit of open files above %d?)", s.Name, err, b.sizes.connections)
	}
	defer fleet.Close()
	ping := benchkit.Traffic{Want: benchkit.Always("+PONG"), Append: func(out []byte, _ int) []byte {
		return benchkit.Command(out, 1).Arg("PING")
	}}
	if _, err := fleet.Send(ctx, ping, len(fleet.Conns), 1); err != nil {
		return f, fmt.Errorf("%s: %w", s.Name, err)
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return f, err
	}
	f.rested, err = s.Resident()
	return f, err
}
