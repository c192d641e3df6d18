package benchkit

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestScatterIsABijection(t *testing.T) {
	for _, total := range []int{1, 2, 1000, 99_999, 100_000} {
		seen := make([]bool, total)
		for n := range total {
			seen[Scatter(n, total)] = true
		}
		require.NotContains(t, seen, false, "%d", total)
	}
}

func TestSplitIsWholePipelinesOfPairs(t *testing.T) {
	require.Equal(t, 4000, Split(200_000, 50, 1))
	require.Equal(t, 20_000, Split(1_000_000, 50, 16))
	require.Equal(t, 2, Split(50, 50, 1))
	require.Equal(t, 16, Split(1, 50, 16))
	for p := 1; p < 20; p++ {
		n := Split(12_345, 7, p)
		require.Zero(t, n%2, "P=%d", p)
		require.Zero(t, n%p, "P=%d", p)
	}
}

func TestPaceSpreadsTheRate(t *testing.T) {
	p := NewPace(20_000, 50, 10*time.Second)
	require.Equal(t, 4000, p.Count)
	var all []time.Duration
	for i := range 50 {
		for k := range p.Count {
			all = append(all, p.Due(i, k))
		}
	}
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), 200_000)
	for i := 1; i < len(all); i++ {
		require.Equal(t, 50*time.Microsecond, all[i]-all[i-1])
	}
	require.Less(t, all[len(all)-1], 10*time.Second)
}

func reader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }

func TestExpect(t *testing.T) {
	r := reader("+OK\r\n:12\r\n$-1\r\n$4\r\nab\r\n\r\n$0\r\n\r\n-ERR no\r\nx")
	require.NoError(t, expect(r, "+OK"))
	require.NoError(t, expect(r, ":"))
	require.NoError(t, expect(r, "$-1"))
	require.NoError(t, expect(r, "$4"))
	require.NoError(t, expect(r, "$"))
	require.EqualError(t, expect(r, ":"), `the reply begins with "-ERR no" instead of ":"`)
	require.Error(t, expect(r, ":"))
	require.Error(t, expect(reader("OK\n"), "O"))
}

func TestReadText(t *testing.T) {
	for in, want := range map[string]string{"+PONG\r\n": "PONG", ":-5\r\n": "-5", "$3\r\na\r\n\r\n": "", "$2\r\nab\r\n": "ab", "$-1\r\n": "",
		"*2\r\n:1\r\n*1\r\n-ERR inner\r\n": ""} {
		got, err := readText(reader(in))
		if in == "$3\r\na\r\n\r\n" {
			want = "a\r\n"
		}
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
	}
	_, err := readText(reader("-LOADING wait\r\n"))
	require.Equal(t, ReplyError("LOADING wait"), err)
	for _, in := range []string{"", "?1\r\n", "$x\r\n", "$5\r\nab\r\n", "\r\n", "*1\r\n"} {
		_, err := readText(reader(in))
		require.Error(t, err, "%q", in)
	}
}

// echo answers every PING of a pipeline with a status, on all connections.
func echo(t *testing.T, status string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				for r := bufio.NewReader(c); ; {
					if _, err := r.ReadString('G'); err != nil { // the G of PING
						return
					}
					if _, err := c.Write([]byte(status)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

func pings(want string) Traffic {
	return Traffic{Want: Always(want), Append: func(b []byte, _ int) []byte { return Command(b, 1).Arg("PING") }}
}

func TestFleetSendsEveryRequest(t *testing.T) {
	f, err := DialFleet(echo(t, "+PONG\r\n"), 3)
	require.NoError(t, err)
	defer f.Close()
	n, err := f.Send(t.Context(), pings("+PONG"), 100, 4)
	require.NoError(t, err)
	require.Equal(t, 96, n)
}

func TestFleetSeesWrongReplies(t *testing.T) {
	f, err := DialFleet(echo(t, "-ERR no\r\n"), 2)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Send(t.Context(), pings("+PONG"), 100, 4)
	require.ErrorContains(t, err, "-ERR no")
}

func TestFleetEndsWithTheContext(t *testing.T) {
	f, err := DialFleet(echo(t, ""), 2) // never answers
	require.NoError(t, err)
	defer f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = f.Send(ctx, pings("+PONG"), 2, 1)
	require.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
}
