package listpack

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValidateRefuses(t *testing.T) {
	good := New().Append([]byte("abc")).AppendInt(1000).Append(make([]byte, 200))
	require.NoError(t, Validate(good))
	change := func(f func(l List) List) []byte { return f(good.Clone()) }
	bad := map[string][]byte{
		"nothing":        nil,
		"header only":    {6, 0, 0, 0, 0, 0},
		"total":          change(func(l List) List { l[0]++; return l }),
		"cut":            good[:len(good)-1],
		"no end byte":    change(func(l List) List { l[len(l)-1] = 0; return l }),
		"count":          change(func(l List) List { l[4]++; return l }),
		"back length":    change(func(l List) List { l[10]++; return l }),
		"length beyond":  change(func(l List) List { l[6] = 0xBF; return l }),
		"bad head":       change(func(l List) List { l[6] = 0xF5; return l }),
		"early end":      change(func(l List) List { l[6] = 0xFF; return l }),
		"huge string":    change(func(l List) List { copy(l[6:], []byte{0xF0, 0xFF, 0xFF, 0xFF, 0xFF}); return l }),
		"head cut off":   {8, 0, 0, 0, 1, 0, 0xF0, 0xFF},
		"no back length": {8, 0, 0, 0, 1, 0, 0x05, 0xFF},
		"12 bit cut off": {8, 0, 0, 0, 1, 0, 0xE1, 0xFF},
	}
	for name, b := range bad {
		require.ErrorIs(t, Validate(b), ErrCorrupt, name)
	}
	unknown := change(func(l List) List { l[4], l[5] = 0xFF, 0xFF; return l })
	require.NoError(t, Validate(unknown))
	require.Equal(t, 3, List(unknown).Len())
}

// FuzzValidate: a list that Validate accepts can be walked and edited.
func FuzzValidate(f *testing.F) {
	l := New()
	for _, b := range samples() {
		if len(b) < 300 {
			l = l.Append(b)
		}
	}
	f.Add([]byte(l))
	f.Add([]byte(New()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= headerSize {
			// A wrong header would stop nearly every input, so half of the inputs get a right one.
			if b[4]&1 == 0 {
				b = append([]byte(nil), b...)
				binary.LittleEndian.PutUint32(b, uint32(len(b)))
				binary.LittleEndian.PutUint16(b[4:], countUnknown)
			}
		}
		if Validate(b) != nil {
			return
		}
		l := List(b).Clone()
		model := collect(l)
		require.Len(t, model, l.Len())
		i := len(model)
		for pos := l.Last(); pos >= 0; pos = l.Prev(pos) {
			i--
			require.True(t, l.Get(pos).Equal(model[i]))
		}
		require.Zero(t, i)
		for _, m := range model {
			require.NotEqual(t, -1, l.Find(l.First(), m, 0))
		}
		// Rewriting every element gives a list in canonical form.
		for pos := l.First(); pos >= 0; pos = l.Next(pos) {
			l = l.Replace(pos, append([]byte(nil), l.Get(pos).Append(nil)...))
		}
		require.NoError(t, Validate(l))
		require.Equal(t, model, collect(l))
	})
}

// FuzzElement: any bytes are read back, with a neighbour on each side.
func FuzzElement(f *testing.F) {
	for _, b := range samples() {
		if len(b) < 300 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l := New().AppendInt(-1).Append([]byte("last"))
		l = l.Insert(l.Last(), b)
		if b == nil {
			b = []byte{}
		}
		check(t, l, [][]byte{[]byte("-1"), b, []byte("last")})
	})
}
