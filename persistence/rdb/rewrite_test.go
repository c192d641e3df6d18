package rdb

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// written returns a file with two AUX fields, a function and a key.
func written(t *testing.T, noChecksum bool) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, WriterOptions{NoChecksum: noChecksum})
	w.Aux("redis-ver", "7.4.1")
	w.AuxInt("ctime", 1700000000)
	w.Aux("empty", "")
	w.Aux("long", strings.Repeat("x", 100))
	w.AuxInt("small", 7)
	w.AuxInt("medium", -300)
	w.SelectDB(0)
	w.ResizeDB(1, 0)
	w.Key([]byte("k"), 0)
	w.String([]byte("v"))
	require.NoError(t, w.Close())
	return b.Bytes()
}

// read returns the AUX fields of a file, and how many keys it has.
func keysAndAux(t *testing.T, b []byte) (aux []AuxField, keys int) {
	r := NewReader(bytes.NewReader(b), ReaderOptions{})
	for {
		_, err := r.Next()
		if err == io.EOF {
			return r.Aux(), keys
		}
		require.NoError(t, err)
		keys++
	}
}

// TestRewrite: fields of the same names are replaced, everything else stays, and the checksum is right.
func TestRewrite(t *testing.T) {
	for _, noChecksum := range []bool{false, true} {
		in := written(t, noChecksum)
		before, _ := keysAndAux(t, in)
		var out bytes.Buffer
		require.NoError(t, Rewrite(&out, iotest.OneByteReader(bytes.NewReader(in)), []AuxField{{"new", "1"}, {"ctime", "5"}, {"long", ""}}))
		after, keys := keysAndAux(t, out.Bytes())
		require.Equal(t, 1, keys)
		want := []AuxField{{"new", "1"}, {"ctime", "5"}, {"long", ""}}
		for _, a := range before {
			if a.Name != "ctime" && a.Name != "long" {
				want = append(want, a)
			}
		}
		require.Equal(t, want, after)
	}
}

// TestRewriteOfDamage: a truncation or a change at any place is an error.
func TestRewriteOfDamage(t *testing.T) {
	in := written(t, false)
	for n := range in {
		require.Error(t, Rewrite(io.Discard, bytes.NewReader(in[:n]), nil), n)
		bad := bytes.Clone(in)
		bad[n] ^= 0x40
		require.Error(t, Rewrite(io.Discard, bytes.NewReader(bad), nil), n)
	}
	require.ErrorContains(t, Rewrite(io.Discard, strings.NewReader("REDIS0003\xff"), nil), "no checksum")
	require.ErrorContains(t, Rewrite(io.Discard, strings.NewReader("SQLite format"), nil), "no RDB file")
}
