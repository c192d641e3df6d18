package slotmove

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func exampleRequest() *Request {
	return &Request{Cluster: "shop", To: "s2", Move: ID{"s1", 7}, Entries: examples()[:3],
		Waits: []QueuedWait{{"default", [][]byte{[]byte("LOCK"), []byte("a"), {}}, 1 << 50, 0}, {"ann", nil, -1, 7}}}
}

func exampleAnswer() *Answer {
	return &Answer{Report{true, Place{4, 9, 2}, true, Digest{1, 19: 2}, false, true}, Status{false, true, Place{4, 9, 0}, -5, 3, 1 << 40}}
}

// TestMessages: a message is read as it was written, and no part of it is.
func TestMessages(t *testing.T) {
	b := exampleRequest().AppendTo(nil)
	r, err := ParseRequest(b)
	require.NoError(t, err)
	require.Equal(t, exampleRequest(), r)
	for n := range b {
		_, err := ParseRequest(b[:n])
		require.ErrorIs(t, err, errDamaged, "the first %d bytes", n)
	}
	b = exampleAnswer().AppendTo(nil)
	a, err := ParseAnswer(b)
	require.NoError(t, err)
	require.Equal(t, exampleAnswer(), a)
	for n := range b {
		_, err := ParseAnswer(b[:n])
		require.ErrorIs(t, err, errDamaged, "the first %d bytes", n)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add(exampleRequest().AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRequest(b)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := ParseRequest(r.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

func FuzzParseAnswer(f *testing.F) {
	f.Add(exampleAnswer().AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseAnswer(b)
		if err != nil {
			require.ErrorIs(t, err, errDamaged)
			return
		}
		again, err := ParseAnswer(a.AppendTo(nil))
		require.NoError(t, err)
		require.Equal(t, a, again)
	})
}
