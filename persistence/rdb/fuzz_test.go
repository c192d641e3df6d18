package rdb

import (
	"bytes"
	"io"
	"slices"
	"testing"
)

// FuzzReader: no file panics, and a file that was read without an error can be written, and reads back equal.
func FuzzReader(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	for _, h := range handmades {
		f.Add(h.data())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := ReaderOptions{NoChecksum: true, SkipModuleKeys: true}
		first, r, err := readAll(bytes.NewReader(data), opts)
		if r.Offset() > int64(len(data)) {
			t.Fatalf("offset %d of %d", r.Offset(), len(data))
		}
		if err != nil {
			return
		}
		slow, _, err := readAll(bytes.NewReader(data), opts)
		if err != nil || len(slow) != len(first) {
			t.Fatalf("read again: %d keys for %d: %v", len(slow), len(first), err)
		}
	})
}

// FuzzPayload: the value of any payload is read to its end, or refused.
func FuzzPayload(f *testing.F) {
	f.Add(cat(0, 1, "x"))
	for _, h := range handmades {
		if len(h.body) > 0 && typeKind(h.body[0]) != 0 {
			f.Add(append([]byte{h.body[0]}, h.body[min(len(h.body), 7):]...)) // most files have a key of 6 bytes
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := ParsePayload(sealed(MaxVersion, body))
		if err != nil {
			return
		}
		if _, err = describeObject(&p.Object); err == nil {
			_ = p.Finish()
		}
		if _, err := ParsePayload(body); err == nil && len(body) < footerBytes {
			t.Fatal("a payload without a footer")
		}
	})
}

// FuzzFunctions: no payload of libraries panics, and a payload that was read can be written, and reads back
// equal.
func FuzzFunctions(f *testing.F) {
	f.Add([]byte{})
	f.Add(cat(opFunction2, 5, "#!lua"))
	f.Add(cat(opFunction2, 1, "a", opFunctionPreGA))
	f.Fuzz(func(t *testing.T, body []byte) {
		libraries, err := ParseFunctions(sealed(MaxVersion, body))
		if err != nil {
			return
		}
		again, err := ParseFunctions(DumpFunctions(nil, libraries, len(body)%2 == 0))
		if err != nil || !slices.EqualFunc(libraries, again, bytes.Equal) {
			t.Fatalf("%q became %q: %v", libraries, again, err)
		}
	})
}

// FuzzProducers: no field of producers panics, and its messages are not longer than the field.
func FuzzProducers(f *testing.F) {
	f.Add(cat(producersForm, 100, 1, 2, 0, 1, "p", 1, "n", 7, 1, 14))
	f.Add(cat(producersForm, 100, 1, 2, 0, 200, "p"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := ParseProducers(b)
		if !ok {
			return
		}
		n := 0
		for _, m := range p.Messages {
			n += len(m.Producer) + len(m.Name) + 5 // each length and number takes at least a byte
		}
		if n >= len(b) {
			t.Fatalf("%d bytes of messages in %d", n, len(b))
		}
	})
}

// FuzzLZF: a compressed text unpacks to the same text. Any block unpacks to the requested length, or fails.
func FuzzLZF(f *testing.F) {
	f.Add([]byte("aaaaaaaaaaaaaaaaaaaaaaaaaaaaabcabcabcabc"), 10)
	f.Add([]byte("\x00a\xe0\x00\x00"), 10)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n >= 0 && n < 1<<20 {
			if out, err := lzfDecompress(nil, in, n); err == nil && len(out) != n {
				t.Fatalf("%d bytes for %d", len(out), n)
			}
		}
		var c lzfCompressor
		for range 2 {
			out, ok := c.compress(in, len(in))
			if !ok {
				continue
			}
			back, err := lzfDecompress(nil, out, len(in))
			if err != nil || !bytes.Equal(in, back) {
				t.Fatalf("%q became %q: %v", in, back, err)
			}
		}
	})
}

// FuzzBlob: a valid blob is iterated to its end without a panic, and has as many elements as it claims.
func FuzzBlob(f *testing.F) {
	f.Add(uint8(ziplistBlob), ziplist(everyZiplistEntry...))
	f.Add(uint8(listpackBlob), []byte(pack("a", "1", "300")))
	f.Add(uint8(zipmapBlob), cat(2, 1, "f", 2, 3, "vv___", 1, "g", 0, 0, 0xFF))
	f.Add(uint8(intsetBlob), []byte{2, 0, 0, 0, 2, 0, 0, 0, 0xFF, 0xFF, 5, 0})
	f.Fuzz(func(t *testing.T, format uint8, b []byte) {
		w, err := newBlob(blobFormat(format%4), b)
		if err != nil {
			return
		}
		var d duplicates
		d.find(w, 1)
		n := 0
		for e, ok := w.next(); ok; e, ok = w.next() {
			_ = e.text(nil)
			n++
		}
		if n != w.n {
			t.Fatalf("%d elements, header says %d", n, w.n)
		}
	})
}

// writeKeys writes n keys of 16 bytes with values of 64 bytes.
func writeKeys(w *Writer, n int) error {
	key, value := []byte("key:000000000000"), bytes.Repeat([]byte("0123456789abcdef"), 4)
	w.SelectDB(0)
	w.ResizeDB(n, 0)
	for i := range n {
		for j, rest := len(key)-1, i; j >= 4; j, rest = j-1, rest/10 {
			key[j] = byte('0' + rest%10)
		}
		w.Key(key, 0)
		w.String(value)
	}
	return w.Close()
}

const benchKeys = 100_000

func BenchmarkRead(b *testing.B) {
	var data bytes.Buffer
	if err := writeKeys(NewWriter(&data, WriterOptions{}), benchKeys); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(data.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(data.Bytes()), ReaderOptions{})
		n := 0
		_, err := r.Next()
		for ; err == nil; _, err = r.Next() {
			n++
		}
		if err != io.EOF || n != benchKeys {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.N)*benchKeys/b.Elapsed().Seconds(), "keys/s")
}

func BenchmarkWrite(b *testing.B) {
	for name, opts := range map[string]WriterOptions{"plain": {}, "compressed": {Compress: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(benchKeys * (16 + 64 + 4))
			for b.Loop() {
				if err := writeKeys(NewWriter(io.Discard, opts), benchKeys); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*benchKeys/b.Elapsed().Seconds(), "keys/s")
		})
	}
}

func BenchmarkCRC(b *testing.B) {
	p := make([]byte, 64<<10)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		updateCRC(0, p)
	}
}
