package resp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

// floatTexts were all tried with Redis 7.4.1. zadd is the score after ZADD z text m, as ZSCORE shows it; incr
// is the reply of INCRBYFLOAT for a new key. "" means the error "value is not a valid float".
var floatTexts = []struct{ text, zadd, incr string }{
	{"", "", ""},
	{"0", "0", "0"},
	{"-0", "0", "0"},
	{"-0.0", "0", "0"},
	{"0x10", "16", "16"},
	{"1e5", "100000", "100000"},
	{" 1", "", ""},
	{"1 ", "", ""},
	{"\t1", "", ""},
	{"\v1", "", ""},
	{"+1", "1", "1"},
	{"++1", "", ""},
	{"-", "", ""},
	{".", "", ""},
	{"+.", "", ""},
	{"e5", "", ""},
	{".e5", "", ""},
	{"1e", "", ""},
	{"1e+", "", ""},
	{"1.2.3", "", ""},
	{"1_0", "", ""},
	{"0x_1p3", "", ""},
	{"1d5", "", ""},
	{"1f", "", ""},
	{"0b1", "", ""},
	{"0o7", "", ""},
	{"00012", "12", "12"},
	{".5", "0.5", "0.5"},
	{"5.", "5", "5"},
	{"+.5e+1", "5", "5"},
	{"1E2", "100", "100"},
	{"1\x00", "", ""},
	{"\x000", "", ""},
	{"0x", "", ""},
	{"0x.", "", ""},
	{"0x1p", "", ""},
	{"0x1p3", "8", "8"},
	{"0X1P-2", "0.25", "0.25"},
	{"0x.8", "0.5", "0.5"},
	{"0x1.", "1", "1"},
	{"-0xFf", "-255", "-255"},
	{"0x0p9999999", "0", "0"},
	{"0e999999", "0", "0"},
	{"nan", "", ""},
	{"-nan", "", ""},
	{"NAN(12)", "", ""},
	{"infi", "", ""},
	{"inf", "inf", "inf"},
	{"+INF", "inf", "inf"},
	{"-inf", "-inf", "-inf"},
	{"InfinitY", "inf", "inf"},
	{"3.0e-17", "3e-17", "0.00000000000000003"},
	{"3e-18", "3e-18", "0"},
	{"1e308", "1e+308", "9999999999999999999668587965"}, // the texts of INCRBYFLOAT are given by their beginning
	{"1e309", "", "9999999999999999999863494245"},
	{"1e400", "", "10000000000000000000281880683947"},
	{"1e4932", "", "100000000000000000000601894938796389132383777425453311477378"},
	{"1.18973149535723176505e+4932", "", "118973149535723176502126385303"},
	{"1.18973149535723176506e+4932", "", ""},
	{"0x1p16383", "", "594865747678615882542879663314"},
	{"0x1p16384", "", ""},
	{"1.19e4932", "", ""},
	{"1e5000", "", ""},
	{"1e99999999999999999999999", "", ""},
	{"5e-324", "5e-324", "0"},
	{"2.5e-324", "5e-324", "0"},
	{"2e-324", "", "0"},
	{"0x1p-1074", "5e-324", "0"},
	{"0x1.1p-1075", "5e-324", "0"},
	{"0x1p-1075", "", "0"},
	{"1e-400", "", "0"},
	{"1e-4950", "", "0"},
	{"1.9e-4951", "", "0"},
	{"1.8e-4951", "", ""},
	{"1e-4960", "", ""},
	{"-1e-4970", "", ""},
	{"1e-99999999999999999999999", "", ""},
	{strings.Repeat("0", 300), "0", "0"},
	{strings.Repeat("0", 5119), "0", "0"},
	{strings.Repeat("0", 5120), "0", ""},
	{"1" + strings.Repeat("0", 300), "1e+300", "1000000000000000000008997"},
}

func TestFloatTexts(t *testing.T) {
	for _, c := range floatTexts {
		name := fmt.Sprintf("%.40q", c.text)
		f, ok := resp.ParseFloat([]byte(c.text))
		require.Equal(t, c.zadd != "", ok, name)
		if ok {
			got := string(resp.AppendDouble(nil, f))
			if f == 0 { // ZADD stores it as an integer, without its sign
				got = "0"
			}
			require.Equal(t, c.zadd, got, name)
		}
		x, ok := resp.ParseLongDouble([]byte(c.text))
		require.Equal(t, c.incr != "", ok, name)
		switch sum, err := resp.AddLongDouble([]byte("0"), []byte(c.text)); {
		case !ok:
			require.ErrorIs(t, err, resp.ErrNotFloat, name)
		case x.IsInf():
			require.ErrorIs(t, err, resp.ErrNaNOrInf, name)
			require.Contains(t, c.incr, "inf", name)
		case len(c.incr) > 24:
			require.Equal(t, c.incr, string(sum[:len(c.incr)]), name)
		default:
			require.Equal(t, c.incr, string(sum), name)
		}
	}
}

func TestAddLongDouble(t *testing.T) {
	for _, c := range []struct{ a, b, sum string }{
		{"10.5", "0.1", "10.6"},
		{"10.6", "-5", "5.6"},
		{"5.0e3", "2.0e2", "5200"},
		{"3.0", "0.1", "3.1"},
		{"0.1", "0.2", "0.3"},
		{"1", "-1", "0"},
		{"-0.5", "0.5", "0"},
		{"-1e-19", "0", "0"},
		{"9223372036854775807", "1", "9223372036854775808"},
		{"18446744073709551615", "1", "18446744073709551616"},
	} {
		sum, err := resp.AddLongDouble([]byte(c.a), []byte(c.b))
		require.NoError(t, err)
		require.Equal(t, c.sum, string(sum), "%s + %s", c.a, c.b)
	}
	_, err := resp.AddLongDouble([]byte("1e4932"), []byte("1e4932"))
	require.ErrorIs(t, err, resp.ErrNaNOrInf, "the sum is too large")
	_, err = resp.AddLongDouble([]byte("x"), []byte("1"))
	require.ErrorIs(t, err, resp.ErrNotFloat)
	_, err = resp.AddLongDouble([]byte("inf"), []byte("-inf"))
	require.ErrorIs(t, err, resp.ErrNaNOrInf)
}

const (
	goldenSums    = "testdata/incrbyfloat.golden"
	goldenDoubles = "testdata/double.golden"
)

// randomDecimal returns a typical increment: few digits, seldom many, seldom an exponent.
func randomDecimal(r *rand.Rand) string {
	var f float64
	switch r.IntN(6) {
	case 0:
		f = float64(r.IntN(2001)-1000) / 10
	case 1:
		f = float64(r.IntN(200001)-100000) / 100
	case 2:
		f = r.NormFloat64()
	case 3:
		f = math.Round(r.NormFloat64()*1e9) / 1e6
	case 4:
		return fmt.Sprintf("%d.%0*d", r.Int64N(1e15), 1+r.IntN(18), r.IntN(1e9))
	case 5:
		return fmt.Sprintf("%.*e", r.IntN(20), r.NormFloat64()*math.Pow(10, float64(r.IntN(40)-20)))
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// makeGolden asks Redis for sums of decimals and for the texts of doubles. A line of sums is a, b, and the
// result of INCRBYFLOAT b for a key with the value a. A line of texts is the bits in hexadecimal, and the
// reply of ZSCORE.
func makeGolden(t *testing.T) {
	c, err := net.Dial("tcp", *oracle)
	require.NoError(t, err)
	defer c.Close()
	in := bufio.NewReader(c)
	call := func(args ...string) resp.Value {
		var command [][]byte
		for _, a := range args {
			command = append(command, []byte(a))
		}
		_, err := c.Write(resp.AppendCommand(nil, command...))
		require.NoError(t, err)
		v, err := resp.ReadValue(in)
		require.NoError(t, err)
		require.False(t, v.IsError(), "%q: %s", args, v)
		return v
	}
	r := rand.New(rand.NewPCG(2, 7015))
	var sums, doubles bytes.Buffer
	for range 2500 {
		a, b := randomDecimal(r), randomDecimal(r)
		call("SET", "golden", a)
		fmt.Fprintln(&sums, a, b, call("INCRBYFLOAT", "golden", b).Str)
	}
	call("DEL", "golden")
	for range 1000 {
		f := math.Float64frombits(r.Uint64())
		switch r.IntN(4) {
		case 0:
			f, _ = strconv.ParseFloat(randomDecimal(r), 64)
		case 1:
			f = float64(r.Int64N(1<<60) >> r.IntN(60))
		}
		if math.IsNaN(f) {
			continue
		}
		call("ZADD", "golden", strconv.FormatFloat(f, 'e', -1, 64), "m")
		fmt.Fprintf(&doubles, "%x %s\n", math.Float64bits(f), call("ZSCORE", "golden", "m").Str)
	}
	call("DEL", "golden")
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(goldenSums, sums.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(goldenDoubles, doubles.Bytes(), 0o644))
}

// TestNumbersAsRedis compares with the answers of Redis 7.4.1 on x86-64.
func TestNumbersAsRedis(t *testing.T) {
	if *oracle != "" {
		makeGolden(t)
	}
	sums, err := os.ReadFile(goldenSums)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	require.Len(t, lines, 2500)
	for _, line := range lines {
		f := strings.Fields(line)
		got, err := resp.AddLongDouble([]byte(f[0]), []byte(f[1]))
		require.NoError(t, err, line)
		require.Equal(t, f[2], string(got), line)
	}
	doubles, err := os.ReadFile(goldenDoubles)
	require.NoError(t, err)
	lines = strings.Split(strings.TrimSpace(string(doubles)), "\n")
	require.Greater(t, len(lines), 900)
	for _, line := range lines {
		f := strings.Fields(line)
		bits, err := strconv.ParseUint(f[0], 16, 64)
		require.NoError(t, err)
		require.Equal(t, f[1], string(resp.AppendDouble(nil, math.Float64frombits(bits))), line)
		back, ok := resp.ParseFloat([]byte(f[1]))
		require.True(t, ok, line)
		require.Equal(t, math.Float64frombits(bits), back, line)
	}
}

func TestCeilThousandfold(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"1", 1000, true}, {"0.1", 100, true}, {"0.0001", 1, true}, {"1e-4900", 1, true},
		{"1.0005", 1001, true}, {"-0.0009", 0, true}, {"-1.5", -1500, true}, {"-1.0001", -1000, true}, {"0x10", 16000, true},
		{"9223372036854775.807", math.MaxInt64, true}, {"9223372036854775.808", 0, false}, {"1e4000", 0, false},
		{"inf", 0, false}, {"-inf", math.MinInt64, true}, {"-1e4000", math.MinInt64, true},
	} {
		x, ok := resp.ParseLongDouble([]byte(c.text))
		require.True(t, ok, c.text)
		n, ok := x.CeilThousandfold()
		require.Equal(t, c.ok, ok, c.text)
		require.Equal(t, c.want, n, c.text)
	}
}

// FuzzFloats: no text panics, the two parsers accept the same numbers, and sums can be read back.
func FuzzFloats(f *testing.F) {
	for _, c := range floatTexts {
		if len(c.text) < 100 {
			f.Add([]byte(c.text), []byte("1.5"))
		}
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, ok := resp.ParseLongDouble(a)
		double, okDouble := resp.ParseFloat(a)
		if okDouble && len(a) < 5000 {
			require.True(t, ok, "%q is a double, so a long double", a)
			require.Equal(t, math.IsInf(double, 0), x.IsInf(), "%q", a)
		}
		sum, err := resp.AddLongDouble(a, b)
		if err == nil && len(sum) < 5000 {
			_, ok := resp.ParseLongDouble(sum)
			require.True(t, ok, "%q + %q = %q", a, b, sum)
		}
	})
}

func BenchmarkAddLongDouble(b *testing.B) {
	x, y := []byte("1234.56"), []byte("0.1")
	for b.Loop() {
		_, _ = resp.AddLongDouble(x, y)
	}
}

// The largest long double is gcc's LDBL_MAX, 1.18973149535723176502e4932; larger numbers are infinite.
func TestMaxLongDouble(t *testing.T) {
	most, least := resp.MaxLongDouble()
	require.Equal(t, "118973149535723176502", string(most.Append(nil)[:21]))
	require.Len(t, most.Append(nil), 4933)
	require.Equal(t, "-"+string(most.Append(nil)), string(least.Append(nil)))
	require.True(t, least.Less(most))
	zero, ok := most.Add(least)
	require.True(t, ok)
	require.Equal(t, "0", string(zero.Append(nil)))
	_, ok = most.Sub(least)
	require.False(t, ok, "no finite number")
	one, _ := resp.ParseLongDouble([]byte("1"))
	half, _ := resp.ParseLongDouble([]byte("0.5"))
	left, ok := half.Sub(one)
	require.True(t, ok)
	require.Equal(t, "-0.5", string(left.Append(nil)))
}
