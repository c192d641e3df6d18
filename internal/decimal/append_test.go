package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAppend: the digits equal the digits of strconv, for any number and any space in the slice.
func TestAppend(t *testing.T) {
	check := func(n uint64) {
		t.Helper()
		for _, space := range []int{0, 3, 40} {
			dst := append(make([]byte, 0, space), "ab"...)
			require.Equal(t, "ab"+strconv.FormatUint(n, 10), string(AppendUint(dst, n)))
			require.Equal(t, "ab"+strconv.FormatInt(int64(n), 10), string(AppendInt(dst, int64(n))))
		}
	}
	for n := range uint64(20_000) {
		check(n)
	}
	for power := uint64(1); ; power *= 10 {
		for _, n := range []uint64{power - 1, power, power + 1, 5 * power, 9*power + power/3} {
			check(n)
		}
		if power == 1e19 {
			break
		}
	}
	for shift := range 64 {
		check(1<<shift - 1)
		check(1 << shift)
	}
	check(math.MaxUint64)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		check(r.Uint64() >> r.IntN(64))
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { var space [20]byte; AppendUint(space[:0], math.MaxUint64) }))
}

func BenchmarkAppend(b *testing.B) {
	var space [32]byte
	for name, n := range map[string]int64{"4 digits": 1234, "19 digits": 1_750_000_000_123_456_789} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				AppendInt(space[:0], n)
			}
		})
		b.Run(name+"/strconv", func(b *testing.B) {
			for range b.N {
				strconv.AppendInt(space[:0], n, 10)
			}
		})
	}
}
