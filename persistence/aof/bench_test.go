package aof

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
	"lockserver/store"
)

// nothing is an Input that does nothing.
type nothing struct{}

func (nothing) Begin(string) error                  { return nil }
func (nothing) Command([][]byte) error              { return nil }
func (nothing) Snapshot(r io.Reader) (int64, error) { return io.Copy(io.Discard, r) }

const benchUnits = 200_000

// BenchmarkLoad loads SET commands with keys of 16 bytes and values of 64 bytes.
func BenchmarkLoad(b *testing.B) {
	p := Location{FS: disk.OS{}, Dir: b.TempDir(), Sub: "log", Filename: "a"}
	l, _, _ := open(b, p, Options{Policy: No})
	e := store.Effect{Args: [][]byte{[]byte("SET"), nil, make([]byte, 64)}}
	for i := range benchUnits {
		e.Args[1] = fmt.Appendf(nil, "key:%012d", i)
		l.Append([]store.Effect{e})
	}
	require.NoError(b, l.Close())
	b.ReportAllocs()
	for b.Loop() {
		d, err := OpenDir(p)
		require.NoError(b, err)
		got, err := d.Load(nothing{}, LoadOptions{})
		require.NoError(b, err)
		require.EqualValues(b, benchUnits+1, got.Commands)
		b.SetBytes(got.Bytes)
		require.NoError(b, d.Close())
	}
	b.ReportMetric(float64(b.N)*benchUnits/b.Elapsed().Seconds(), "commands/s")
}

func BenchmarkAppend(b *testing.B) {
	for _, policy := range []Policy{EverySec, Always} {
		b.Run(policy.String(), func(b *testing.B) {
			p := Location{FS: disk.OS{}, Dir: b.TempDir(), Sub: "log", Filename: "a"}
			l, _, _ := open(b, p, Options{Policy: policy})
			unit := []store.Effect{{Args: [][]byte{[]byte("SET"), []byte("key:000000000001"), make([]byte, 64)}}}
			b.ReportAllocs()
			for b.Loop() {
				l.Append(unit)
				l.Flush()
			}
			require.NoError(b, l.Sync(context.Background()))
			require.NoError(b, l.Close())
		})
	}
}
