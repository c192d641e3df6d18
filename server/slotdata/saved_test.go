package slotdata

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzReadSaved: a damaged staging is an error. Reading it and passing it over end at the same byte.
func FuzzReadSaved(f *testing.F) {
	source := newStore()
	fill(source, 20, lower)
	s := NewStaging(newStore(), lower)
	for _, piece := range send(f, source, lower) {
		s.Add(nowUS, appendFrame(nil, framePiece, piece), nil)
	}
	s.Add(nowUS, []byte("u\x05*1"), nil) // a part of a frame
	var file bytes.Buffer
	saved := s.Save()
	require.NoError(f, saved.Write(&file, nil))
	saved.Release()
	f.Add(file.Bytes())
	f.Add([]byte{savedVersion, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReader(bytes.NewReader(b))
		_, err := ReadSaved(in, func() *Staging { return NewStaging(newStore(), lower) }, func(f func() error) error { return f() })
		if err != nil {
			require.ErrorIs(t, err, errSaved)
			return
		}
		passed := bufio.NewReader(bytes.NewReader(b))
		_, err = ReadSaved(passed, nil, nil)
		require.NoError(t, err)
		require.Equal(t, in.Buffered(), passed.Buffered())
	})
}

// FuzzStagingAdd: a damaged stream fails the staging.
func FuzzStagingAdd(f *testing.F) {
	source := newStore()
	fill(source, 20, lower)
	stream := []byte{}
	for _, piece := range send(f, source, lower) {
		stream = appendFrame(stream, framePiece, piece)
	}
	stream = appendFrame(stream, frameUnit, []byte("*2\r\n$3\r\nDEL\r\n$5\r\nkey:0\r\n"))
	f.Add(appendFrame(stream, frameClose, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewStaging(newStore(), lower)
		s.Add(nowUS, b, func(argv [][]byte) error { return nil })
		if s.Failed() != nil {
			require.Zero(t, s.Digest())
			require.Zero(t, s.DB().Len())
		}
	})
}
