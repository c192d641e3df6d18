package commands

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// TestWords: commands of all sizes come back unchanged, even in a buffer that was used before, and take one
// piece of memory.
func TestWords(t *testing.T) {
	seed := testkit.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	sizes := []int{0, 1, 63, 64, 65, 127, 128, 8191, 8192, 16384, 1 << 21}
	var argv [][]byte
	var buf []byte
	for range 300 {
		want := make([][]byte, rng.IntN(9))
		total := 0
		for i := range want {
			size := rng.IntN(40)
			if rng.IntN(8) == 0 {
				size = sizes[rng.IntN(len(sizes))]
			}
			want[i] = make([]byte, size)
			for j := range want[i] {
				want[i][j] = byte(rng.Uint32())
			}
			if rng.IntN(3) == 0 {
				want[i] = []byte(knownWords[rng.IntN(len(knownWords))])
			}
			total += len(want[i])
		}
		w := PackWords(want)
		require.Equal(t, total, w.Bytes())
		require.LessOrEqual(t, len(w), total+5*len(want))
		argv, buf = w.Append(argv[:0], buf)
		require.Len(t, argv, len(want))
		for i, word := range want {
			require.True(t, string(word) == string(argv[i]), "word %d of %d bytes", i, len(word))
			require.Equal(t, len(argv[i]), cap(argv[i]))
			require.True(t, w.At(w.Find(word)) == string(word))
		}
		own := w.Argv()
		clear(buf)
		require.Len(t, own, len(want))
		for i, word := range want {
			require.True(t, string(word) == string(own[i]))
		}
	}
	require.Equal(t, -1, PackWords([][]byte{[]byte("LOCK"), []byte("k")}).Find([]byte("other")))
	call := [][]byte{[]byte("LOCK"), []byte("lock:000000000007"), []byte("owner")}
	var w Words
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { w = PackWords(call) }), 1.0)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = w.At(w.Find(call[1])) }))
	argv, buf = make([][]byte, 0, 8), make([]byte, 0, 128)
	require.Zero(t, testing.AllocsPerRun(100, func() { argv, buf = w.Append(argv[:0], buf) }))
}

// TestKnownWords: each of knownWords is found, and takes one byte.
func TestKnownWords(t *testing.T) {
	seen := map[string]bool{}
	for i, word := range knownWords {
		require.False(t, seen[word], word)
		seen[word] = true
		require.Equal(t, i, known([]byte(word)), word)
		w := PackWords([][]byte{[]byte(word)})
		require.Len(t, w, 1, word)
		require.Equal(t, word, string(w.Argv()[0]))
		require.Equal(t, -1, known([]byte(word+"x")))
	}
}
