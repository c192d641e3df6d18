package decimal_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/decimal"
)

// TestAppendFloat: the digits equal the answers to ZSCORE of a redis-server 7.4.1.
func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 1: "1", -7: "-7", 0.1: "0.1", 6.6: "6.6", 2.5: "2.5", -0.125: "-0.125", 1e5: "100000", 123456.789: "123456.789",
		1e-3: "0.001", 1e-5: "0.00001", 1e-6: "0.000001", 1e-7: "1e-7", 1.5e-6: "1.5e-6", 1.25e-5: "1.25e-5", 1.234e-5: "1.234e-5",
		5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308", 1e17: "100000000000000000", 1e18: "1000000000000000000",
		1e19: "1e+19", 1 << 62: "4611686018427387904", 1 << 63: "9223372036854776000", -1 << 63: "-9223372036854776000",
		1 << 64: "18446744073709552000", 3.3e300: "3.3e+300", 2.2250738585072014e-308: "2.2250738585072014e-308",
		// For these numbers the digits of Grisu2 are not the fewest, or not the nearest.
		499.7246896801378: "499.72468968013783", 2.34228203192923e-8: "2.3422820319292302e-8", 163306709662204.62: "163306709662204.63",
	} {
		require.Equal(t, "x"+want, string(decimal.AppendFloat([]byte("x"), f)))
	}
	require.Equal(t, "-0", string(decimal.AppendFloat(nil, math.Copysign(0, -1))))
}

func TestFloatsReadBack(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 20_000 {
		f := math.Float64frombits(r.Uint64())
		switch i % 3 {
		case 1:
			f = r.NormFloat64() * 1000
		case 2:
			f = math.Float64frombits(r.Uint64() >> (12 + r.IntN(52))) // a subnormal number
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		text := decimal.AppendFloat(nil, f)
		back, err := strconv.ParseFloat(string(text), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(f), math.Float64bits(back), "%s", text)
	}
}

func TestAppendFloatDoesNotAllocate(t *testing.T) {
	var space [32]byte
	require.Zero(t, testing.AllocsPerRun(100, func() { decimal.AppendFloat(space[:0], -1234.5678) }))
}

func TestWholeNumber(t *testing.T) {
	for f, want := range map[float64]int64{0: 0, 3: 3, -1 << 62: -1 << 62, 1 << 62: 1 << 62} {
		n, ok := decimal.WholeNumber(f)
		require.True(t, ok)
		require.Equal(t, want, n)
	}
	for _, f := range []float64{0.5, 1<<62 + 1024, 1 << 63, math.Inf(1), math.NaN()} {
		_, ok := decimal.WholeNumber(f)
		require.False(t, ok, "%v", f)
	}
}

func BenchmarkAppendFloat(b *testing.B) {
	var space [32]byte
	for b.Loop() {
		decimal.AppendFloat(space[:0], 13.361389338970184)
	}
}
