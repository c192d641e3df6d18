package rdb

import (
	"bytes"
	"errors"
	"hash/crc64"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCRC(t *testing.T) {
	require.EqualValues(t, uint64(0xe9c6d914c4b8d9ca), updateCRC(0, []byte("123456789")))
	// The standard library inverts the start value and the result.
	table := crc64.MakeTable(jonesReflected)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 100 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		start := r.Uint64()
		require.Equal(t, ^crc64.Update(^start, table, b), updateCRC(start, b))
	}
}

func TestLZF(t *testing.T) {
	var c lzfCompressor
	r := rand.New(rand.NewPCG(3, 4))
	for _, in := range [][]byte{
		bytes.Repeat([]byte("a"), 100000), []byte(strings.Repeat("abcabcabd", 50)), []byte("aaaaaaaaaaaa"),
		bytes.Repeat([]byte("0123456789abcdef0123456789ABCDEF"), 1000),
	} {
		out, ok := c.compress(in, len(in))
		require.True(t, ok)
		require.Less(t, len(out), len(in))
		back, err := lzfDecompress([]byte("before"), out, len(in))
		require.NoError(t, err)
		require.True(t, bytes.Equal(in, back[6:]))
		for _, wrong := range []int{len(in) - 1, len(in) + 1, 0} {
			_, err = lzfDecompress(nil, out, wrong)
			require.Error(t, err)
		}
	}
	for range 60 { // words from a small alphabet, at distances within and beyond the reach
		in := make([]byte, r.IntN(20000))
		for i := range in {
			in[i] = byte(r.IntN(1 + r.IntN(8)))
		}
		if out, ok := c.compress(in, len(in)-4); ok {
			require.LessOrEqual(t, len(out), len(in)-4)
			back, err := lzfDecompress(nil, out, len(in))
			require.NoError(t, err)
			require.True(t, bytes.Equal(in, back))
		}
	}
	noise := make([]byte, 1000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	_, ok := c.compress(noise, len(noise)-4)
	require.False(t, ok)
}

// TestLZFTableWrap puts the positions close to their largest value.
func TestLZFTableWrap(t *testing.T) {
	c := lzfCompressor{base: 1 << 31}
	in := []byte(strings.Repeat("wrap", 100))
	for range 3 {
		out, ok := c.compress(in, len(in))
		require.True(t, ok)
		back, err := lzfDecompress(nil, out, len(in))
		require.NoError(t, err)
		require.Equal(t, in, back)
	}
	require.Less(t, c.base, uint32(10000))
}

func TestStringsTakeTheirShortestEncoding(t *testing.T) {
	for value, want := range map[string]string{
		"0": "\xc0\x00", "-1": "\xc0\xff", "127": "\xc0\x7f", "128": "\xc1\x80\x00", "-32768": "\xc1\x00\x80", "32768": "\xc2\x00\x80\x00\x00",
		"2147483647": "\xc2\xff\xff\xff\x7f", "2147483648": "\x0a2147483648", "-2147483648": "\xc2\x00\x00\x00\x80",
		"-2147483649": "\x0b-2147483649", "-0": "\x02-0", "00": "\x0200", "+1": "\x02+1", "": "\x00", "-": "\x01-", "1a": "\x021a",
		"99999999999":           "\x0b99999999999",
		strings.Repeat("a", 64): "\xc3\x05\x40\x40\x00a\xe0\x35\x00a",
	} {
		w := newWriter(nil, WriterOptions{Compress: true})
		w.text([]byte(value))
		if len(value) < compressFrom {
			require.Equal(t, want, string(w.buf), value)
			continue
		}
		require.Less(t, len(w.buf), len(value)/2, value)
		require.EqualValues(t, encLZF, w.buf[0])
	}
}

func TestPayload(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		want := ""
		p, err := DumpPayload([]byte("kept"), WriterOptions{Compress: seed%2 == 0}, func(w *Writer) { want = randomValue(r, w) })
		require.NoError(t, err)
		require.Equal(t, "kept", string(p[:4]))
		payload, err := ParsePayload(p[4:])
		require.NoError(t, err, "seed %d", seed)
		got, err := describeObject(&payload.Object)
		require.NoError(t, err)
		require.Equal(t, want, got, "seed %d", seed)
		require.NoError(t, payload.Finish())
	}
}

// sealed makes a payload of a type and a value.
func sealed(version int, body []byte) []byte {
	p := cat(body, version, version>>8)
	return cat(p, le64(updateCRC(0, p)))
}

func TestPayloadDamage(t *testing.T) {
	p := sealed(9, cat(16, str(pack("f", "v"))))
	_, err := ParsePayload(p)
	require.NoError(t, err)
	for i := range p {
		flipped := bytes.Clone(p)
		flipped[i] ^= 0x10
		_, err := ParsePayload(flipped)
		require.ErrorIs(t, err, ErrPayloadFooter)
		_, err = ParsePayload(p[:i])
		require.ErrorIs(t, err, ErrPayloadFooter)
	}
	_, err = ParsePayload(sealed(MaxVersion+1, cat(0, "x")))
	require.ErrorIs(t, err, ErrPayloadFooter)
	for reason, body := range map[string][]byte{
		"unknown type 8": {8}, "value of a module": {7, 0}, "without elements": cat(2, 0), "1 bytes wanted": {}, "5 bytes wanted, 1 left": cat(0, 5, "x"),
	} {
		_, err = ParsePayload(sealed(9, body))
		require.ErrorContains(t, err, reason)
		require.NotErrorIs(t, err, ErrPayloadFooter)
	}
	payload, err := ParsePayload(sealed(9, cat(0, 1, "x", "rest")))
	require.NoError(t, err)
	require.ErrorContains(t, payload.Finish(), "4 bytes behind the value")
}

func TestWriterTellsMisuse(t *testing.T) {
	k := []byte("k")
	for want, misuse := range map[string]func(*Writer){
		"value without a key":          func(w *Writer) { w.String(k) },
		`key "k" without a value`:      func(w *Writer) { w.Key(k, 0); w.Key(k, 0) },
		"hash lacks 1 of its parts":    func(w *Writer) { w.Key(k, 0); w.Hash(2); w.Field(k, k); w.SelectDB(1) },
		"a part that hash did not":     func(w *Writer) { w.Key(k, 0); w.Hash(1); w.Field(k, k); w.Field(k, k) },
		"a part that set did not":      func(w *Writer) { w.Key(k, 0); w.Set(1); w.Field(k, k) },
		"zset without elements":        func(w *Writer) { w.Key(k, 0); w.ZSet(0) },
		"score is not a number":        func(w *Writer) { w.Key(k, 0); w.ZSet(1); w.Scored(k, math.NaN()) },
		"version 10 has no deadlines":  func(w *Writer) { w.Key(k, 0); w.HashExpiring(1, 5) },
		"plain node without bytes":     func(w *Writer) { w.Key(k, 0); w.List(1); w.ListPlain(nil) },
		"members of an intset do not":  func(w *Writer) { w.Key(k, 0); w.SetInts([]int64{2, 2}) },
		"stream without its info":      func(w *Writer) { w.Key(k, 0); w.Stream(0) },
		"stream info before its nodes": func(w *Writer) { w.Key(k, 0); w.Stream(1); w.StreamInfo(StreamInfo{}) },
		"stream lacks 1 of its parts":  func(w *Writer) { w.Key(k, 0); w.Stream(0); w.StreamInfo(StreamInfo{Groups: 1}) },
		"stream node 1-1 does not ascend": func(w *Writer) {
			w.Key(k, 0)
			w.Stream(2)
			w.StreamNode(ID{1, 1}, pack("x"))
			w.StreamNode(ID{1, 1}, pack("x"))
		},
		"pending entry 1-1 has no consumer": func(w *Writer) {
			w.Key(k, 0)
			w.Stream(0)
			w.StreamInfo(StreamInfo{Groups: 1})
			w.Group(&Group{Pending: []Pending{{ID: ID{1, 1}}}})
		},
	} {
		w := NewWriter(io.Discard, WriterOptions{})
		misuse(w)
		require.ErrorContains(t, w.Close(), want)
	}
	w := NewWriter(io.Discard, WriterOptions{})
	require.NoError(t, w.Close())
	require.Error(t, w.Close(), "closed twice")
	require.Error(t, NewWriter(io.Discard, WriterOptions{Version: 11}).Close())
	_, err := DumpPayload(nil, WriterOptions{}, func(w *Writer) {})
	require.ErrorContains(t, err, "payload of 0 values")
	_, err = DumpPayload(nil, WriterOptions{}, func(w *Writer) { w.Key(k, 0) })
	require.ErrorContains(t, err, "key in a payload")
}

// full is a writer that reports a full disk.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteErrorIsReported(t *testing.T) {
	for _, left := range []int{0, 100 << 10, 1 << 20} {
		w := NewWriter(&full{left}, WriterOptions{})
		w.SelectDB(0)
		for range 100 {
			w.Key([]byte("k"), 0)
			w.String(bytes.Repeat([]byte("v"), 20<<10))
			w.Key([]byte("long"), 0)
			w.String(bytes.Repeat([]byte("v"), writeThrough))
		}
		require.ErrorIs(t, w.Close(), errFull)
		require.ErrorIs(t, w.Err(), errFull)
		require.LessOrEqual(t, w.Written(), int64(left+writerBuffer))
	}
}
