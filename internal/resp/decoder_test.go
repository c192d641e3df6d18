package resp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/testkit"
)

// decoded is the result for a byte stream: its commands as printable text, the error, and the rest.
type decoded struct {
	commands []string
	err      error
	pending  int
}

// decode feeds the chunks one by one, and takes all commands after each chunk.
func decode(d *resp.Decoder, chunks ...[]byte) decoded {
	var out decoded
	var args [][]byte
	for _, chunk := range chunks {
		borrowed := bytes.Clone(chunk)
		d.Feed(borrowed)
		for {
			var ok bool
			args, ok, out.err = d.Next(args[:0])
			if !ok {
				break
			}
			out.commands = append(out.commands, fmt.Sprintf("%q", args))
		}
		d.Keep()
		for i := range borrowed { // the decoder must not use borrowed bytes any more
			borrowed[i] = '#'
		}
	}
	out.pending = d.Pending()
	return out
}

func bytewise(in []byte) [][]byte {
	chunks := make([][]byte, len(in))
	for i := range in {
		chunks[i] = in[i : i+1]
	}
	return chunks
}

func TestFailedStaysFailed(t *testing.T) {
	var d resp.Decoder
	first := decode(&d, []byte("*x\r\n*1\r\n$4\r\nPING\r\n"))
	require.ErrorIs(t, first.err, resp.ErrMultibulkLength)
	require.Zero(t, first.pending, "nothing is held for a lost connection")
	require.Equal(t, first, decode(&d, []byte("PING\r\n")))
	require.Equal(t, "ERR Protocol error: invalid multibulk length", resp.ErrMultibulkLength.Reply())
}

// TestBeforeLogin: the limits before the login, and that a login in the same pipeline ends them.
func TestBeforeLogin(t *testing.T) {
	for _, c := range []struct {
		in  string
		err error
	}{
		{"*10\r\n", nil},
		{"*11\r\n", resp.ErrUnauthMultibulk},
		{"*1048577\r\n", resp.ErrMultibulkLength},
		{"*2\r\n$16384\r\n", nil},
		{"*2\r\n$16385\r\n", resp.ErrUnauthBulk},
		{"*2\r\n$-1\r\n", resp.ErrBulkLength},
		{"*2\r\n$536870913\r\n", resp.ErrBulkLength},
		{"NOSUCH 1 2 3 4 5 6 7 8 9\r\n", nil},
		{"NOSUCH 1 2 3 4 5 6 7 8 9 10\r\n", resp.ErrUnauthMultibulk}, // D120
		{"*1\r\n$16385\r\n" + strings.Repeat("x", 16385) + "\r\n", resp.ErrUnauthBulk},
		{"*11\r\n" + strings.Repeat("$1\r\nx\r\n", 11), resp.ErrUnauthMultibulk},
	} {
		var d resp.Decoder
		d.SetAuthenticated(false)
		require.Equal(t, c.err, decode(&d, []byte(c.in)).err, "%.40q", c.in)
	}

	var d resp.Decoder
	d.SetAuthenticated(false)
	d.Feed([]byte("*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n*11\r\n" + strings.Repeat("$1\r\nx\r\n", 11)))
	_, ok, err := d.Next(nil)
	require.NoError(t, err)
	require.True(t, ok)
	d.SetAuthenticated(true)
	args, ok, err := d.Next(nil)
	require.NoError(t, err)
	require.True(t, ok)
	require.Len(t, args, 11)
}

func TestLimits(t *testing.T) {
	small := resp.Limits{MaxInline: 20, MaxArgs: 3, MaxBulk: 10, MaxQuery: 40}
	for _, c := range []struct {
		in  string
		err error
	}{
		{"12345678901234567890\n", nil},
		{"1234567890123456789\r\n", nil},
		{"123456789012345678901\n", resp.ErrInlineTooBig},
		{"12345678901234567890\r\n", resp.ErrInlineTooBig},
		{"*" + strings.Repeat("0", 20) + "\r\n", resp.ErrMultibulkTooBig},
		{"*1\r\n$" + strings.Repeat("0", 20) + "\r\n", resp.ErrBulkTooBig},
		{"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", nil},
		{"*4\r\n", resp.ErrMultibulkLength},
		{"*1\r\n$10\r\n0123456789\r\n", nil},
		{"*1\r\n$11\r\n01234567890\r\n", resp.ErrBulkLength},
		{"*3\r\n$10\r\n0123456789\r\n$4\r\n0123\r\n$3\r\n012\r\n", nil}, // 40 bytes
		{"*3\r\n$10\r\n0123456789\r\n$4\r\n0123\r\n$4\r\n0123\r\n", resp.ErrQueryTooLong},
	} {
		for _, chunks := range [][][]byte{{[]byte(c.in)}, bytewise([]byte(c.in))} {
			var d resp.Decoder
			d.SetLimits(small)
			require.Equal(t, c.err, decode(&d, chunks...).err, "%q", c.in)
		}
	}
}

// TestLimitsLoweredWithinALine: the searched part of a line may be longer than a new limit.
func TestLimitsLoweredWithinALine(t *testing.T) {
	var d resp.Decoder
	require.NoError(t, decode(&d, bytes.Repeat([]byte("a"), 1000)).err)
	d.SetLimits(resp.Limits{MaxInline: 10})
	require.ErrorIs(t, decode(&d, []byte("a")).err, resp.ErrInlineTooBig)
}

// TestParkedTailIsBounded: a client continues to send while its commands are not taken.
func TestParkedTailIsBounded(t *testing.T) {
	var d resp.Decoder
	d.SetLimits(resp.Limits{MaxQuery: 100})
	for range 10 {
		d.Feed([]byte("*1\r\n$4\r\nPING\r\n"))
		d.Keep()
	}
	_, ok, err := d.Next(nil)
	require.False(t, ok)
	require.ErrorIs(t, err, resp.ErrQueryTooLong)
	require.Zero(t, d.Pending())
}

// TestStopAndGoOn takes a pipeline one command at a time with Keep in between, as a client that blocks on
// every command does. Copying the tail each time would move 250,000 * 6 MB, which takes minutes.
func TestStopAndGoOn(t *testing.T) {
	const n = 250_000
	var in []byte
	for i := range n {
		in = resp.AppendCommand(in, []byte("BLPOP"), fmt.Appendf(nil, "key:%020d", i), []byte("0"))
	}
	in = append(in, "*1\r\n$4\r\nPI"...)
	var d resp.Decoder
	d.Feed(bytes.Clone(in))
	start := time.Now()
	var args [][]byte
	for i := range n {
		var ok bool
		var err error
		args, ok, err = d.Next(args[:0])
		require.NoError(t, err)
		require.True(t, ok)
		if string(args[1]) != fmt.Sprintf("key:%020d", i) {
			t.Fatalf("command %d is %q", i, args)
		}
		d.Keep()
	}
	require.Less(t, time.Since(start), 20*time.Second)
	_, ok, err := d.Next(nil)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, len("*1\r\n$4\r\nPI"), d.Pending())
	require.Equal(t, decoded{commands: []string{`["PING"]`}}, decode(&d, []byte("NG\r\n")))
}

// TestByteByByteIsLinear: a command of 200,000 arguments in reads of one byte. Parsing it from its start for
// each byte would take 10^12 steps.
func TestByteByByteIsLinear(t *testing.T) {
	const n = 200000
	in := append(fmt.Appendf(nil, "*%d\r\n", n), bytes.Repeat([]byte("$1\r\nx\r\n"), n)...)
	var d resp.Decoder
	start := time.Now()
	for i := range in {
		d.Feed(in[i : i+1])
		args, ok, err := d.Next(nil)
		if err != nil || ok != (i == len(in)-1) {
			t.Fatalf("byte %d of %d: %v %v", i, len(in), ok, err)
		}
		if ok && len(args) != n {
			t.Fatalf("%d arguments", len(args))
		}
		d.Keep()
	}
	require.Less(t, time.Since(start), time.Minute)
	require.Zero(t, d.Pending())
}

func TestLargeArgument(t *testing.T) {
	value := make([]byte, testkit.Steps(16<<20, 64<<20))
	for i := range value {
		value[i] = byte(i * 7 / 5)
	}
	in := resp.AppendCommand(nil, []byte("SET"), []byte("k"), value)
	in = append(in, "PING\r\n"...)
	var d resp.Decoder
	var got [][]byte
	for len(in) > 0 {
		n := min(len(in), 64<<10)
		d.Feed(in[:n])
		in = in[n:]
		args, ok, err := d.Next(nil)
		require.NoError(t, err)
		if ok {
			got = args
			break
		}
		d.Keep()
	}
	require.Len(t, got, 3)
	require.True(t, bytes.Equal(value, got[2]))
	require.Equal(t, len("PING\r\n")-len(in), d.Pending())
}

// TestAnnouncementsAreFree: an announced length allocates nothing until the bytes arrive.
func TestAnnouncementsAreFree(t *testing.T) {
	for _, in := range []string{"*1\r\n$536870912\r\nx", "*1048576\r\n$1\r\nx"} {
		const runs = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			var d resp.Decoder
			d.Feed([]byte(in))
			_, _, _ = d.Next(nil)
			d.Keep()
		}
		runtime.ReadMemStats(&after)
		allocated := (after.TotalAlloc - before.TotalAlloc) / runs
		require.Less(t, allocated, uint64(20<<10), "%q", in)
	}
}

func TestIdleSize(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(resp.Decoder{}), uintptr(100))
	var d resp.Decoder
	d.SetLimits(resp.Limits{MaxArgs: 7})
	empty := d
	require.Empty(t, decode(&d, []byte("*1\r\n$4\r\nPI")).commands)
	require.NotEqual(t, empty, d)
	require.Len(t, decode(&d, []byte("NG\r\n")).commands, 1)
	require.Equal(t, empty, d, "no buffer and no state is kept")
}

func TestNextAllocatesNothing(t *testing.T) {
	for _, in := range []string{
		"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$64\r\n" + strings.Repeat("v", 64) + "\r\n",
		"PING hello\r\n",
		"*0\r\n*1\r\n$4\r\nPINGXX",
	} {
		var d resp.Decoder
		batch := bytes.Repeat([]byte(in), 16)
		args := make([][]byte, 0, 8)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			d.Feed(batch)
			n := 0
			for ; ; n++ {
				var ok bool
				if args, ok, _ = d.Next(args[:0]); !ok {
					break
				}
			}
			d.Keep()
			if n != 16 {
				panic(n)
			}
		}), "%q", in)
	}
}

// TestNextAppends: Next appends its arguments to the slice. A failed or unfinished command leaves the slice
// alone.
func TestNextAppends(t *testing.T) {
	var d resp.Decoder
	d.Feed([]byte("*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1"))
	args, ok, err := d.Next([][]byte{[]byte("before")})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, `["before" "PING"]`, fmt.Sprintf("%q", args))
	args, ok, err = d.Next(args)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, `["before" "PING"]`, fmt.Sprintf("%q", args))
}

// TestRandomCommands: random commands, fed in random pieces with random stops, come out unchanged.
func TestRandomCommands(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range testkit.Steps(100, 300) {
		var in []byte
		var want []string
		for range 1 + r.IntN(20) {
			command := make([][]byte, 1+r.IntN(5))
			for i := range command {
				size := r.IntN(40)
				if r.IntN(20) == 0 {
					size = r.IntN(30000)
				}
				command[i] = make([]byte, size)
				for k := range command[i] {
					command[i][k] = "\r\n$*0123456789ab\x00\xff"[r.IntN(18)]
				}
			}
			in = resp.AppendCommand(in, command...)
			want = append(want, fmt.Sprintf("%q", command))
		}
		require.Equal(t, decoded{commands: want}, decode(new(resp.Decoder), in))
		var d resp.Decoder
		var got []string
		for len(got) < len(want) {
			n := 0
			if len(in) > 0 && r.IntN(4) > 0 {
				n = min(len(in), 1+r.IntN([]int{3, 100, 20000}[r.IntN(3)]))
				d.Feed(in[:n])
				in = in[n:]
			}
			for range r.IntN(4) {
				args, ok, err := d.Next(nil)
				require.NoError(t, err)
				if ok {
					got = append(got, fmt.Sprintf("%q", args))
				}
			}
			if r.IntN(3) > 0 {
				d.Keep()
			}
		}
		require.Equal(t, want, got)
		require.Empty(t, in)
		require.Zero(t, d.Pending())
	}
}

// TestChangedCommands: a command with one changed byte, or cut off, is read alike as a whole and byte by
// byte. After the command before it the list of words is long enough for the faster way.
func TestChangedCommands(t *testing.T) {
	words := [][]byte{[]byte("SET"), {}, []byte("key:00000012")}
	before := resp.AppendCommand(nil, append(words, words...)...)
	command := resp.AppendCommand(bytes.Clone(before), words...)
	check := func(in []byte) {
		require.Equal(t, decode(new(resp.Decoder), bytewise(in)...), decode(new(resp.Decoder), in), "%q", in)
	}
	for i := len(before); i <= len(command); i++ {
		check(command[:i])
		for _, c := range []byte("\x00\r\n $*/0159:;") {
			if i < len(command) {
				in := bytes.Clone(command)
				in[i] = c
				check(append(in, before...))
			}
		}
	}
}

// FuzzDecoder: no bytes panic, and the result is the same commands and the same error for any way to cut
// them.
func FuzzDecoder(f *testing.F) {
	for _, c := range protocolCases {
		if len(c.in) < 1000 {
			f.Add([]byte(c.in), uint64(len(c.in)), false)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, small bool) {
		var limits resp.Limits
		if small {
			limits = resp.Limits{MaxInline: 12, MaxArgs: 4, MaxBulk: 30, MaxQuery: 1 << 20}
		}
		r := rand.New(rand.NewPCG(seed, 1))
		var whole, cut resp.Decoder
		for _, d := range []*resp.Decoder{&whole, &cut} {
			d.SetLimits(limits)
			d.SetAuthenticated(seed%2 == 0)
		}
		var chunks [][]byte
		for rest := in; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1+r.IntN(30)))
			chunks = append(chunks, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, decode(&whole, in), decode(&cut, chunks...))
	})
}

func BenchmarkNextSet(b *testing.B) {
	const batch = 16
	in := bytes.Repeat([]byte("*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$64\r\n"+strings.Repeat("v", 64)+"\r\n"), batch)
	var d resp.Decoder
	args := make([][]byte, 0, 8)
	b.ReportAllocs()
	for range b.N / batch {
		d.Feed(in)
		for {
			var ok bool
			if args, ok, _ = d.Next(args[:0]); !ok {
				break
			}
		}
		d.Keep()
	}
}
