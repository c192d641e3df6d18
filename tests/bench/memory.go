package main

import (
	"context"
	"fmt"
	"time"
)

// memoryTarget is the resident memory of the loaded server as a share of Redis'; idleTargetKiB is what a connection
// may cost.
const (
	memoryTarget  = 1.3
	idleTargetKiB = 30
)

// footprint is the resident memory of a server, in bytes.
type footprint struct{ empty, loaded, rested int64 }

// memory loads many small keys into each server and reads what it then holds.
func (b *bench) memory(ctx context.Context) {
	b.report.text(fmt.Sprintf("## Memory\n\n%s keys of 16 bytes with values of %d bytes; resident memory (VmRSS) of the empty "+
		"server, right after loading, and as it is after %v without a request. The rested figure is compared.",
		grouped(float64(b.sizes.keys)), valueBytes, b.sizes.idle))
	var got [2]footprint
	for i, p := range b.pair {
		f, err := b.footprint(ctx, p)
		if err != nil {
			b.report.failed("memory", err)
			return
		}
		got[i] = f
	}
	ratio := float64(got[1].rested) / float64(got[0].rested)
	mark := b.report.hold(fmt.Sprintf("memory of %s keys", grouped(float64(b.sizes.keys))), ratio, memoryTarget, times)
	var rows [][]string
	for i, f := range got {
		cells := []string{b.pair[i].name, mebibytes(float64(f.empty)), mebibytes(float64(f.loaded)), mebibytes(float64(f.rested)),
			fixed(float64(f.rested-f.empty)/float64(b.sizes.keys), 0), "", ""}
		if i == 1 {
			cells[5], cells[6] = times(ratio), mark
		}
		rows = append(rows, cells)
	}
	b.report.table([]string{"server", "empty", "loaded", "rested", "bytes per key", "ratio", "target"}, rows)
}

func (b *bench) footprint(ctx context.Context, p product) (footprint, error) {
	var f footprint
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return f, err
	}
	defer s.stop()
	b.say("memory: loading %s", s.name)
	if f.empty, err = s.resident(); err != nil {
		return f, err
	}
	if err := s.loadKeys(ctx, b.sizes.keys); err != nil {
		return f, err
	}
	if f.loaded, err = s.resident(); err != nil {
		return f, err
	}
	if err := rest(ctx, b.sizes.idle); err != nil {
		return f, err
	}
	f.rested, err = s.resident()
	return f, err
}

// loadKeys sets n keys and checks that they are there.
func (s *server) loadKeys(ctx context.Context, n int) error {
	sent, err := s.fill(ctx, setKeys(), n)
	if err != nil {
		return err
	}
	return wantKeys(s, sent)
}

// rest waits, unless the run is broken off.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// idle opens many connections that say PING twice and then nothing.
func (b *bench) idle(ctx context.Context) {
	b.report.text(fmt.Sprintf("## Idle connections\n\n%s connections that have sent two PINGs; growth of resident memory, read "+
		"after %v without a request.", grouped(float64(b.sizes.connections)), b.sizes.idle))
	var got [2]footprint
	for i, p := range b.pair {
		f, err := b.connected(ctx, p)
		if err != nil {
			b.report.failed("idle", err)
			return
		}
		got[i] = f
	}
	perConn := func(f footprint) float64 { return float64(f.rested-f.empty) / float64(b.sizes.connections) }
	mark := b.report.hold("an idle connection", perConn(got[1]), idleTargetKiB<<10, kibibytes)
	var rows [][]string
	for i, f := range got {
		cells := []string{b.pair[i].name, mebibytes(float64(f.empty)), mebibytes(float64(f.rested)), kibibytes(perConn(f)), "", ""}
		if i == 1 {
			cells[4], cells[5] = times(perConn(got[1])/perConn(got[0])), mark
		}
		rows = append(rows, cells)
	}
	b.report.table([]string{"server", "before", "connected", "per connection", "ratio", "target"}, rows)
}

func (b *bench) connected(ctx context.Context, p product) (footprint, error) {
	var f footprint
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return f, err
	}
	defer s.stop()
	b.say("idle: connecting to %s", s.name)
	if f.empty, err = s.resident(); err != nil {
		return f, err
	}
	fleet, err := dialFleet(s.addr, b.sizes.connections)
	if err != nil {
		return f, fmt.Errorf("%s: %w (is the limit of open files above %d?)", s.name, err, b.sizes.connections)
	}
	defer fleet.close()
	ping := traffic{want: always("+PONG"), append: func(out []byte, _ int) []byte { return appendBulk(appendArray(out, 1), "PING") }}
	if _, err := fleet.send(ctx, ping, len(fleet.conns), 1); err != nil {
		return f, fmt.Errorf("%s: %w", s.name, err)
	}
	if err := rest(ctx, b.sizes.idle); err != nil {
		return f, err
	}
	f.rested, err = s.resident()
	return f, err
}
