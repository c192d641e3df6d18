package rdb

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// samples returns valid files with a checksum: files of Redis, files made by hand, and our own.
func samples(t testing.TB) map[string][]byte {
	all := map[string][]byte{}
	for _, g := range goldens {
		data, err := os.ReadFile(g.path())
		require.NoError(t, err)
		if g.name != "uncompressed" { // has no checksum
			all["golden "+g.name] = data
		}
	}
	for _, h := range handmades {
		if h.err == nil && h.version >= checksumSince {
			all["handmade "+h.name] = h.data()
		}
	}
	return all
}

// requireKnown checks that an error has a kind that callers can distinguish.
func requireKnown(t *testing.T, err error) {
	t.Helper()
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, []error{ErrTruncated, ErrCorrupt, ErrUnsupported}, e.Kind)
}

func TestTruncatedAtEveryByte(t *testing.T) {
	for name, data := range samples(t) {
		for n := range data {
			_, _, err := readAll(bytes.NewReader(data[:n]), ReaderOptions{})
			require.ErrorIs(t, err, ErrTruncated, "%s cut to %d of %d bytes", name, n, len(data))
			requireKnown(t, err)
		}
	}
}

// TestFlippedAtEveryByte flips one bit of each byte. For the checksum all bits are alike.
func TestFlippedAtEveryByte(t *testing.T) {
	for name, data := range samples(t) {
		want, _, err := readAll(bytes.NewReader(data), ReaderOptions{})
		require.NoError(t, err)
		flipped := bytes.Clone(data)
		for i := range data {
			flipped[i] ^= 1 << (i % 8)
			got, _, err := readAll(bytes.NewReader(flipped), ReaderOptions{})
			flipped[i] = data[i]
			if err == nil { // a version without checksum: only the version's own digits can do that
				require.Less(t, i, headerBytes, "%s, byte %d", name, i)
				require.Equal(t, want, got)
				continue
			}
			requireKnown(t, err)
		}
	}
}

// TestFlippedUnchecked lets damage pass the checksum, to test the decoders themselves. It flips three bits of
// each byte: the first makes a small change, the second a large change, and the third turns a length into an
// encoding.
func TestFlippedUnchecked(t *testing.T) {
	for name, data := range samples(t) {
		flipped := bytes.Clone(data)
		for i := range data {
			for _, bit := range []int{0, 4, 7} {
				flipped[i] ^= 1 << bit
				_, _, err := readAll(bytes.NewReader(flipped), ReaderOptions{NoChecksum: true, SkipModuleKeys: true})
				flipped[i] ^= 1 << bit
				var e *Error
				if err != nil && !errors.As(err, &e) {
					require.Fail(t, "an error of another type", "%s, byte %d bit %d: %v", name, i, bit, err)
				}
			}
		}
	}
}

func TestErrorsStay(t *testing.T) {
	r := NewReader(bytes.NewReader(file(10, cat(0, str("k"), str("v"), 200))), ReaderOptions{})
	_, err := r.Next()
	require.NoError(t, err)
	_, first := r.Next()
	require.ErrorIs(t, first, ErrCorrupt)
	_, again := r.Next()
	require.Equal(t, first, again)

	r = NewReader(bytes.NewReader(file(10)), ReaderOptions{})
	for range 2 {
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
	}
}

func TestChecksumIsReported(t *testing.T) {
	data := file(10, cat(0, str("k"), str("v")))
	data[len(data)-1] ^= 1
	_, _, err := readAll(bytes.NewReader(data), ReaderOptions{})
	require.ErrorContains(t, err, "RDB CRC error: the checksum of the file")
	require.ErrorIs(t, err, ErrCorrupt)
	_, _, err = readAll(bytes.NewReader(data), ReaderOptions{NoChecksum: true})
	require.NoError(t, err)
	_, _, err = readAll(bytes.NewReader(append(data[:len(data)-8], make([]byte, 8)...)), ReaderOptions{})
	require.NoError(t, err, "0 is: not computed")
}

func TestReadErrorIsReported(t *testing.T) {
	data := file(10, cat(0, str("k"), str("v")))
	broken := errors.New("disk on fire")
	_, _, err := readAll(io.MultiReader(bytes.NewReader(data[:12]), iotest.ErrReader(broken)), ReaderOptions{})
	require.ErrorIs(t, err, broken)
	require.ErrorIs(t, err, ErrRead)
	_, _, err = readAll(stuck{}, ReaderOptions{})
	require.ErrorIs(t, err, io.ErrNoProgress)
}

// stuck is a reader that never returns data.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestLiesDoNotAllocate feeds impossible lengths, and checks that they allocate no memory.
func TestLiesDoNotAllocate(t *testing.T) {
	huge := []byte{0x81, 0x10, 0, 0, 0, 0, 0, 0, 0}
	for name, body := range map[string][]byte{
		"key":         cat(0, huge),
		"string":      cat(0, str("k"), huge, "abc"),
		"lzf":         cat(0, str("k"), 0xC3, huge, huge),
		"list":        cat(1, str("k"), huge, str("a")),
		"hash":        cat(4, str("k"), huge),
		"zset":        cat(5, str("k"), huge),
		"quicklist":   cat(18, str("k"), huge, 2, huge),
		"stream":      cat(21, str("k"), huge),
		"pending":     cat(15, str("k"), streamNode, 1, id(1, 1), huge, str("g"), id(1, 1), huge),
		"consumers":   cat(15, str("k"), streamNode, 1, id(1, 1), 1, str("g"), id(1, 1), 0, huge),
		"intset":      cat(11, str("k"), str([]byte{8, 0, 0, 0, 255, 255, 255, 255})),
		"function":    cat(0xF5, huge),
		"aux":         cat(0xFA, huge),
		"resizedb":    cat(0xFB, huge, huge, 0, 0, 0),
		"moduleaux":   cat(0xF7, huge, 2, 1, 5, huge),
		"ziplist len": cat(13, str("k"), str(cat(255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255))),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readAll(bytes.NewReader(cat("REDIS0012", body)), ReaderOptions{})
		runtime.ReadMemStats(&after)
		require.Error(t, err, name)
		requireKnown(t, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), name)
	}
}

func TestOptions(t *testing.T) {
	_, _, err := readAll(bytes.NewReader(file(10, cat(0xFE, 16))), ReaderOptions{Databases: 16})
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "database 16; there are 16")

	module := cat(7, str("m"), 0x81, "ABCDEFGH", 5, str("data"), 3, "ffff", 0, 0, str("k"), str("v"))
	got, r, err := readAll(bytes.NewReader(file(10, module)), ReaderOptions{SkipModuleKeys: true})
	require.NoError(t, err)
	require.Equal(t, snapshot{"0/k": "string v"}, got)
	require.Equal(t, 1, r.Skipped().ModuleKeys)

	_, r, err = readAll(bytes.NewReader(file(10, cat(1, str("l"), 0))), ReaderOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, r.Skipped().EmptyKeys)
}

// TestNextSkipsWhatWasNotPulled reads no value at all.
func TestNextSkipsWhatWasNotPulled(t *testing.T) {
	for name, data := range samples(t) {
		want, _, err := readAll(bytes.NewReader(data), ReaderOptions{})
		require.NoError(t, err)
		r := NewReader(bytes.NewReader(data), ReaderOptions{})
		n := 0
		for _, err = r.Next(); err == nil; _, err = r.Next() {
			n++
		}
		require.Equal(t, io.EOF, err, name)
		require.Len(t, want, n, name)
	}
}

func TestDuplicateMemberFailsTheReader(t *testing.T) {
	r := NewReader(bytes.NewReader(file(10, cat(2, str("s"), 2, str("m"), str("m")))), ReaderOptions{})
	e, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, 2, e.SizeHint)
	m, ok := e.NextMember()
	require.True(t, ok)
	err = e.Duplicate(m)
	require.EqualError(t, err, `rdb: offset 23: corrupt: key "s" (set): "m" occurs twice`)
	_, ok = e.NextMember()
	require.False(t, ok)
	require.Equal(t, err, e.Err())
	_, again := r.Next()
	require.Equal(t, err, again)
}

func TestOffsetIsWhereTheSnapshotEnds(t *testing.T) {
	data := file(9, cat(0, str("k"), str("v")))
	_, r, err := readAll(bytes.NewReader(append(bytes.Clone(data), "*1\r\n$4\r\nPING\r\n"...)), ReaderOptions{})
	require.NoError(t, err)
	require.EqualValues(t, len(data), r.Offset())
}

func TestPastDeadlines(t *testing.T) {
	got, _, err := readAll(bytes.NewReader(file(9,
		cat(0xFC, le64(0), 0, str("zero"), str("v"), 0xFD, 0xFE, 0xFF, 0xFF, 0xFF, 0, str("negative"), str("v"),
			0xFC, bytes.Repeat([]byte{0xFF}, 8), 0, str("none"), str("v")))), ReaderOptions{})
	require.NoError(t, err)
	require.Equal(t, snapshot{"0/zero": "string v @1", "0/negative": "string v @1", "0/none": "string v"}, got)
}
