package resp_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
)

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name         string
		write        func(w *resp.Writer)
		resp2, resp3 string // resp3 "" means the same
	}{
		{"ok", (*resp.Writer).OK, "+OK\r\n", ""},
		{"simple", func(w *resp.Writer) { w.Simple("QUEUED") }, "+QUEUED\r\n", ""},
		{"simple with breaks", func(w *resp.Writer) { w.Simple("a\r\nb\n") }, "+a  b \r\n", ""},
		{"error", func(w *resp.Writer) { w.Error("ERR no") }, "-ERR no\r\n", ""},
		{"error with breaks", func(w *resp.Writer) { w.Error("ERR a\r\nb\r\n") }, "-ERR a  b\r\n", ""},
		{"error of a byte", func(w *resp.Writer) { w.Error("ERR got '\xff'") }, "-ERR got '\xff'\r\n", ""},
		{"int", func(w *resp.Writer) { w.Int(7); w.Int(-1); w.Int(math.MinInt64) }, ":7\r\n:-1\r\n:-9223372036854775808\r\n", ""},
		{"bulk", func(w *resp.Writer) { w.Bulk([]byte("a\r\nb")); w.Bulk(nil) }, "$4\r\na\r\nb\r\n$0\r\n\r\n", ""},
		{"bulk string", func(w *resp.Writer) { w.BulkString("hello world") }, "$11\r\nhello world\r\n", ""},
		{"bulk int", func(w *resp.Writer) { w.BulkInt(math.MinInt64); w.BulkInt(0) }, "$20\r\n-9223372036854775808\r\n$1\r\n0\r\n", ""},
		{"null", (*resp.Writer).Null, "$-1\r\n", "_\r\n"},
		{"null array", (*resp.Writer).NullArray, "*-1\r\n", "_\r\n"},
		{"array", func(w *resp.Writer) { w.Array(0); w.Array(12) }, "*0\r\n*12\r\n", ""},
		{"ints", func(w *resp.Writer) { w.Ints(); w.Ints(1, -20, math.MaxInt64) }, "*0\r\n*3\r\n:1\r\n:-20\r\n:9223372036854775807\r\n", ""},
		{"map", func(w *resp.Writer) { w.Map(0); w.Map(7) }, "*0\r\n*14\r\n", "%0\r\n%7\r\n"},
		{"set", func(w *resp.Writer) { w.Set(3) }, "*3\r\n", "~3\r\n"},
		{"push", func(w *resp.Writer) { w.Push(3) }, "*3\r\n", ">3\r\n"},
		{"double", func(w *resp.Writer) { w.Double(3.141) }, "$5\r\n3.141\r\n", ",3.141\r\n"},
		{"double 0.1", func(w *resp.Writer) { w.Double(0.1) }, "$3\r\n0.1\r\n", ",0.1\r\n"},
		{"double 3", func(w *resp.Writer) { w.Double(3) }, "$1\r\n3\r\n", ",3\r\n"},
		{"double inf", func(w *resp.Writer) { w.Double(math.Inf(1)) }, "$3\r\ninf\r\n", ",inf\r\n"},
		{"double -inf", func(w *resp.Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"double longest", func(w *resp.Writer) { w.Double(-math.MaxFloat64) }, "$24\r\n-1.7976931348623157e+308\r\n", ",-1.7976931348623157e+308\r\n"},
		{"true", func(w *resp.Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *resp.Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"verbatim", func(w *resp.Writer) { w.Verbatim("txt", "a\nb") }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"},
		{"big", func(w *resp.Writer) { w.BigNumber("1234567999999999999999999999999999999") }, "$37\r\n1234567999999999999999999999999999999\r\n", "(1234567999999999999999999999999999999\r\n"},
		{"raw", func(w *resp.Writer) { w.Raw([]byte("+x\r\n")) }, "+x\r\n", ""},
	} {
		if c.resp3 == "" {
			c.resp3 = c.resp2
		}
		for proto, want := range map[int]string{0: c.resp2, 2: c.resp2, 3: c.resp3} {
			w := resp.Writer{Buf: []byte("before"), Proto: proto}
			c.write(&w)
			require.Equal(t, "before"+want, string(w.Buf), "%s in version %d", c.name, proto)
			require.Equal(t, len("before"+want), w.Len())
		}
	}
}

func TestVerbatimFormat(t *testing.T) {
	require.Panics(t, func() { new(resp.Writer).Verbatim("text", "x") })
}

func TestRollback(t *testing.T) {
	var w resp.Writer
	w.OK()
	mark := w.Mark()
	w.Array(2)
	w.DeferArray()
	w.Rollback(mark)
	w.Error("ERR no")
	require.Equal(t, "+OK\r\n-ERR no\r\n", string(w.Buf))
}

// TestDeferred nests deferred aggregates of every size of header.
func TestDeferred(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 99, 100, 1000, 12345} {
		for _, proto := range []int{2, 3} {
			var w, want resp.Writer
			w.Proto, want.Proto = proto, proto
			values := func(w *resp.Writer, times int) {
				for i := range times * n {
					w.Int(int64(i))
				}
			}

			w.OK()
			array := w.DeferArray()
			m := w.DeferMap()
			values(&w, 2)
			w.SetMap(m, n)
			set := w.DeferSet()
			values(&w, 1)
			w.SetSet(set, n)
			w.SetArray(array, 2+n)
			w.OK()

			want.OK()
			want.Array(2 + n)
			want.Map(n)
			values(&want, 2)
			want.Set(n)
			values(&want, 1)
			want.OK()
			require.Equal(t, string(want.Buf), string(w.Buf), "n %d, version %d", n, proto)
		}
	}
}

func TestDeferredMisuse(t *testing.T) {
	var w resp.Writer
	d := w.DeferArray()
	w.SetArray(d, 0)
	require.Panics(t, func() { w.SetArray(d, 0) }, "twice")
	d = w.DeferMap()
	require.Panics(t, func() { w.SetArray(d, 0) }, "as another kind")
	outer := w.DeferArray()
	inner := w.DeferArray()
	w.SetArray(outer, 100000)
	require.Panics(t, func() { w.SetArray(inner, 1) }, "after the outer one has moved it")
	mark := w.Mark()
	d = w.DeferSet()
	w.Rollback(mark)
	require.Panics(t, func() { w.SetSet(d, 1) }, "after a rollback")
}

func TestWriterAllocatesNothing(t *testing.T) {
	w := resp.Writer{Buf: make([]byte, 0, 4096), Proto: 3}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		w.Rollback(0)
		w.OK()
		w.Int(123456)
		w.BulkInt(math.MinInt64)
		w.BulkString("hello")
		w.Double(0.1)
		d := w.DeferMap()
		w.Verbatim("txt", "x")
		w.Null()
		w.SetMap(d, 1)
		w.Error("ERR no")
	}))
}

func BenchmarkWriter(b *testing.B) {
	value := []byte(strings.Repeat("v", 64))
	w := resp.Writer{Buf: make([]byte, 0, 1<<20)}
	b.Run("bulk64", func(b *testing.B) {
		for b.Loop() {
			w.Rollback(0)
			w.Bulk(value)
		}
	})
	b.Run("int", func(b *testing.B) {
		for b.Loop() {
			w.Rollback(0)
			w.Int(123456)
		}
	})
	b.Run("ok", func(b *testing.B) {
		for b.Loop() {
			w.Rollback(0)
			w.OK()
		}
	})
}
