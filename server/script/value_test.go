package script

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// TestNumbersForCommands: the wanted texts are those that a redis-server 7.4.1 echoes.
func TestNumbersForCommands(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 1: "1", -7: "-7", 0.1: "0.1", 1e16: "10000000000000000", 1e17: "100000000000000000", 123456789012345678: "123456789012345680", 1e19: "1e+19",
		1e-5: "0.00001", 1e-7: "1e-7", 1e100: "1e+100", 0.0001: "0.0001", 1.5: "1.5", -2.25: "-2.25", 123456.789: "123456.789",
		math.Inf(1): "inf", math.Inf(-1): "-inf", math.MaxFloat64: "1.7976931348623157e+308", 5e-324: "5e-324", math.MaxInt64: "9223372036854776000", 1 << 53: "9007199254740992",
	} {
		require.Equal(t, "x"+want, string(appendNumber([]byte("x"), f)))
	}
	require.Equal(t, "0", string(appendNumber(nil, math.Copysign(0, -1))))
	require.Equal(t, "nan", string(appendNumber(nil, math.Float64frombits(0x7ff8000000000000))))
	require.Equal(t, "-nan", string(appendNumber(nil, math.Float64frombits(0xfff8000000000000))))
}

// TestNumbersForClients: what a conversion to a long long makes of numbers on the
// machines that Redis runs on.
func TestNumbersForClients(t *testing.T) {
	for f, want := range map[float64]int64{
		0: 0, 3.99: 3, -3.99: -3, 1e300: math.MinInt64, -1e300: math.MinInt64, 1 << 62: 1 << 62, -1 << 63: math.MinInt64, 1 << 63: math.MinInt64,
	} {
		require.Equal(t, want, truncate(f), "%v", f)
	}
	require.Equal(t, int64(math.MinInt64), truncate(math.NaN()))
}

// writeRandom writes a random reply.
func writeRandom(r *rand.Rand, w *resp.Writer, depth int) {
	n := r.IntN(13)
	if depth == 0 {
		n = r.IntN(8)
	}
	switch n {
	case 0:
		w.Int(r.Int64() - r.Int64())
	case 1:
		w.BulkString(string([]byte{byte(r.IntN(256)), '\r', '\n', byte(r.IntN(256))}[:r.IntN(5)]))
	case 2:
		w.Simple("status")
	case 3:
		w.Error("ERR an error")
	case 4:
		w.Null()
	case 5:
		w.Double(r.NormFloat64())
	case 6:
		w.Bool(r.IntN(2) == 0)
	case 7:
		w.Verbatim("txt", "some text")
	case 8, 9:
		size := r.IntN(5)
		w.Array(size)
		for range size {
			writeRandom(r, w, depth-1)
		}
	case 10:
		size := r.IntN(4)
		w.Map(size)
		for range size {
			w.BulkString("key")
			writeRandom(r, w, depth-1)
		}
	case 11:
		size := r.IntN(4)
		w.Set(size)
		for range size {
			writeRandom(r, w, depth-1)
		}
	default:
		w.NullArray()
	}
}

// TestRepliesForScripts: whatever a command can write is read to its end, and nothing behind it.
func TestRepliesForScripts(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	state := lua.NewState()
	for range 5000 {
		w := resp.Writer{Proto: 2 + r.IntN(2)}
		writeRandom(r, &w, 4)
		whole := string(w.Buf)
		w.Raw([]byte(":7\r\n"))
		reader := replyReader{state: state, buf: w.Buf}
		require.NotNil(t, reader.value(), "%q", whole)
		require.Equal(t, ":7\r\n", string(reader.buf), "%q", whole)
	}
}
