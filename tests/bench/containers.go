package main

import (
	"context"
	"fmt"

	"lockserver/internal/benchkit"
)

// containerTarget is the resident memory of small containers as a share of Redis'.
const containerTarget = 1.5

// smallContainer is a kind of container and the request that makes number i of it, with five elements.
type smallContainer struct {
	name string
	make func(b []byte, i int) []byte
}

func smallContainers() []smallContainer {
	of := func(command, name string, words ...string) smallContainer {
		return smallContainer{name, func(b []byte, i int) []byte {
			c := benchkit.Command(b, 2+len(words)).Arg(command).Numbered("key:", i, "")
			for _, w := range words {
				c = c.Arg(w)
			}
			return c
		}}
	}
	return []smallContainer{
		of("HSET", "hashes", "name", "Ada", "city", "London", "age", "36", "visits", "1024", "plan", "gold"),
		of("SADD", "sets", "red", "green", "blue", "yellow", "violet"),
		of("RPUSH", "lists", "first", "second", "third", "fourth", "fifth"),
		of("ZADD", "sorted sets", "10", "ada", "20", "grace", "30", "alan", "40", "edsger", "50", "barbara"),
	}
}

// containers loads many small hashes, sets, lists and sorted sets and reads what the servers then hold.
func (b *bench) containers(ctx context.Context) {
	b.report.Text(fmt.Sprintf("## Small containers\n\n%s of each kind, with five elements, under keys of 16 bytes; growth of resident "+
		"memory (VmRSS), read after %v without a request.", benchkit.Grouped(float64(b.sizes.containers)), b.sizes.idle))
	var rows [][]string
	for _, kind := range smallContainers() {
		var got [2]float64 // bytes each
		for i, p := range b.pair {
			bytes, err := b.heldBy(ctx, p, kind)
			if err != nil {
				b.report.Failed("containers", err)
				return
			}
			got[i] = float64(bytes) / float64(b.sizes.containers)
		}
		ratio := got[1] / got[0]
		mark := b.report.AtMost("memory of small "+kind.name, ratio, containerTarget, benchkit.Times)
		rows = append(rows, []string{kind.name, benchkit.Fixed(got[0], 0), benchkit.Fixed(got[1], 0), benchkit.Times(ratio), mark})
	}
	b.report.Table([]string{"kind", "Redis, bytes each", "lockserver, bytes each", "ratio", "target"}, rows)
}

func (b *bench) heldBy(ctx context.Context, p product, kind smallContainer) (int64, error) {
	s, err := b.startFresh(ctx, p)
	if err != nil {
		return 0, err
	}
	defer s.Stop()
	b.say("containers: loading %s into %s", kind.name, s.Name)
	empty, err := s.Resident()
	if err != nil {
		return 0, err
	}
	sent, err := s.Fill(ctx, benchkit.Traffic{Want: benchkit.Always(":5"), Append: kind.make}, b.sizes.containers)
	if err != nil {
		return 0, err
	}
	if err := wantKeys(s, sent); err != nil {
		return 0, err
	}
	if err := benchkit.Rest(ctx, b.sizes.idle); err != nil {
		return 0, err
	}
	full, err := s.Resident()
	return full - empty, err
}
