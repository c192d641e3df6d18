package raftlog

import (
	"fmt"
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/persistence/disk"
)

// openIn opens a log on the system's disk.
func openIn(b *testing.B, dir string) *Log {
	c, err := Scan(disk.OS{Blocking: true}, dir, nil)
	require.NoError(b, err)
	l, err := c.Open()
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	return l
}

// store stores n entries of a size.
func store(b *testing.B, l *Log, n, size int) {
	last, err := l.LastIndex()
	require.NoError(b, err)
	data := make([]byte, size)
	all := make([]*hraft.Log, n)
	for i := range all {
		all[i] = &hraft.Log{Index: last + 1 + uint64(i), Term: 1, Data: data}
	}
	require.NoError(b, l.StoreLogs(all))
}

// BenchmarkStore stores batches of entries, with a sync each.
func BenchmarkStore(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("%dx120", n), func(b *testing.B) {
			l := openIn(b, b.TempDir())
			for b.Loop() {
				store(b, l, n, 120)
			}
		})
	}
}

// BenchmarkScan verifies a log of many entries.
func BenchmarkScan(b *testing.B) {
	for _, size := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(size, " bytes"), func(b *testing.B) {
			dir := b.TempDir()
			l := openIn(b, dir)
			const mega = 256
			for range mega {
				store(b, l, 1<<20/(size+recordBytes), size)
			}
			require.NoError(b, l.Close())
			b.SetBytes(mega << 20)
			for b.Loop() {
				_, err := Scan(disk.OS{}, dir, nil)
				require.NoError(b, err)
			}
		})
	}
}
