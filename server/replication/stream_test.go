package replication

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestStreamAgainstModel: readers at random places read what was written, in order, and no more is kept than
// they need and than is asked for.
func TestStreamAgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		chance := rand.New(rand.NewPCG(seed, 7))
		var s stream
		s.reset(100)
		keep := int64(chance.IntN(200_000))
		s.setKeep(keep)
		var all []byte
		type reading struct {
			r  *reader
			at int64
		}
		var readers []reading
		for range 1500 {
			switch chance.IntN(6) {
			case 0, 1:
				b := make([]byte, chance.IntN(20_000))
				for i := range b {
					b[i] = byte(chance.Uint32())
				}
				s.append(b)
				all = append(all, b...)
			case 2:
				begin, end := s.bounds()
				at := begin - 5 + chance.Int64N(end-begin+10)
				r := s.read(at, nil)
				require.Equal(t, at >= begin && at <= end, r != nil)
				if r != nil {
					readers = append(readers, reading{r, at})
				}
			case 3, 4:
				for i := range readers {
					one := &readers[i]
					b := one.r.peek(1 + chance.IntN(100_000))
					require.True(t, bytes.Equal(all[one.at-100:one.at-100+int64(len(b))], b))
					n := chance.IntN(len(b) + 1)
					one.r.skip(n)
					one.at += int64(n)
					require.Equal(t, one.at, one.r.place())
				}
			case 5:
				if len(readers) > 3 {
					readers[0].r.close()
					require.Nil(t, readers[0].r.peek(1))
					readers = readers[1:]
				}
			}
			begin, end := s.bounds()
			require.Equal(t, int64(len(all))+100, end)
			needed := max(end-keep, 100)
			for _, one := range readers {
				needed = min(needed, one.at)
				require.Equal(t, end-one.at, one.r.left())
			}
			require.LessOrEqual(t, begin, needed)
			require.LessOrEqual(t, needed-begin, int64(2*blockBytes))
		}
	}
}

// TestWhatIsReadStaysAsItIs: also when the reader is closed by another while its owner sends.
func TestWhatIsReadStaysAsItIs(t *testing.T) {
	for _, reset := range []bool{false, true} {
		var s stream
		s.mostSpare = 3
		r := s.read(0, nil)
		s.append(bytes.Repeat([]byte("a"), 2*blockBytes))
		require.Nil(t, s.read(-1, nil))
		b := r.peek(100)
		if reset {
			s.reset(7)
		} else {
			r.close()
			require.Empty(t, s.owners(), "no replica waits for it")
			_, any := s.slowest()
			require.False(t, any)
		}
		for range 20 {
			s.append(bytes.Repeat([]byte("b"), blockBytes))
		}
		require.Equal(t, strings.Repeat("a", 100), string(b))
		r.skip(len(b))
		require.Empty(t, s.readers)
		require.Nil(t, r.peek(1))
		s.append([]byte("c"))
		require.LessOrEqual(t, s.held(), 6*blockBytes, "nothing is kept for it any more")
	}
}

// TestUntil: what stands before the mark is read, however it comes, and an end without it is an error.
func TestUntil(t *testing.T) {
	mark := strings.Repeat("m", 39) + "!"
	for _, size := range []int{0, 1, 39, 40, 41, 5000, 200_000} {
		data := strings.Repeat("m", size)
		for name, from := range map[string]io.Reader{
			"at once": strings.NewReader(data + mark), "bytewise": iotest.OneByteReader(strings.NewReader(data + mark)),
			"with its end": iotest.DataErrReader(strings.NewReader(data + mark)),
		} {
			got, err := io.ReadAll(newUntil(from, mark))
			require.NoError(t, err, name)
			require.Equal(t, data, string(got), name)
		}
		_, err := io.ReadAll(newUntil(strings.NewReader(data), mark))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}

// FuzzHistory: whatever a master sends, the server does not end by it, and what it has taken for whole is a
// beginning of what came.
func FuzzHistory(f *testing.F) {
	f.Add([]byte("*2\r\n$6\r\nSELECT\r\n$1\r\n1\r\n*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n"), uint8(3))
	f.Add([]byte("*1\r\n$5\r\nMULTI\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n*1\r\n$4\r\nEXEC\r\n\n*1\r\n$4\r\nPING\r\n"), uint8(7))
	f.Add([]byte("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		host := &fakeHost{}
		n := &Node{}
		n.Init(host, func() {})
		n.link = n.newLink("nowhere", 1)
		n.record()
		in := NewInput(n.link.db)
		taken := 0
		for taken < len(b) {
			next := min(len(b), taken+int(piece)+1)
			err := n.link.receive(in, append([]byte(nil), b[taken:next]...))
			taken = next
			if err != nil {
				break
			}
		}
		r := n.stream.read(0, nil)
		if r == nil { // there was more than is kept
			return
		}
		var got []byte
		for p := r.peek(1 << 20); len(p) > 0; p = r.peek(1 << 20) {
			got = append(got, p...)
			r.skip(len(p))
		}
		require.True(t, bytes.HasPrefix(b[:taken], got))
	})
}

// TestLinkEndsWhileItConnects: to a machine that does not answer.
func TestLinkEndsWhileItConnects(t *testing.T) {
	host := &fakeHost{}
	n := &Node{}
	n.Init(host, func() {})
	n.Follow("nowhere", 1)
	ended := make(chan struct{})
	link := n.link
	go func() {
		link.run()
		close(ended)
	}()
	host.Do(link.end)
	<-ended
}
