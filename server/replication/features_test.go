package replication

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// fieldDeadline is an effect that not every replica knows.
func fieldDeadline() Effects {
	return Effects{{Args: [][]byte{[]byte("HPEXPIREAT"), []byte("key"), []byte("9000"), []byte("FIELDS"), []byte("1"), []byte("f")}}}
}

// TestAnswers: what a replica's words on how far it is say about what it knows. Places are counted from the
// one behind the first question.
func TestAnswers(t *testing.T) {
	ack := int64(len(getAck))
	end := int64(len(probeOf(FieldDeadlines)))
	for _, c := range []struct {
		name   string
		places []int64
		ended  bool
	}{
		{"it knows", []int64{-2 * ack, -ack, 0, 0, 0, end}, false},
		{"it does not", []int64{-2 * ack, -ack, end}, true},
		{"it does not, and the clock's answer came in between", []int64{-2 * ack, -ack, -ack, 0, end}, true},
		{"it does not, and is far behind the question", []int64{-2 * ack, -ack, end + 1000}, true},
		{"it is a program that answers nothing", []int64{-2 * ack, end + ack}, false},
		{"it is a program that answers by what it has read", []int64{-ack, 0, 40, 77, 114, end + ack}, false},
		{"it has not come to the end", []int64{-2 * ack, -ack, -ack}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, peers := masterOf(t, 1)
			n.Append(anEffect(10))
			r := peers[0].of
			from := n.Offset() + 2*ack
			n.Append(fieldDeadline())
			n.Append(fieldDeadline())
			require.Len(t, r.asked, 1, "once")
			for _, at := range c.places {
				n.ack(r, from+at, -1)
			}
			require.Equal(t, c.ended, peers[0].ended > 0)
			if c.ended {
				require.Less(t, r.acked, from+end, "what it leaves out it has not")
			} else if c.places[len(c.places)-1] >= end {
				before := n.Offset()
				n.Append(fieldDeadline())
				require.Less(t, n.Offset()-before, end, "it is asked once")
			}
		})
	}
}

// TestDoubt: a replica is asked at once if it goes on while the data has something that it may not know.
// Until it has answered, its acknowledgements do not count. A lockserver is not asked.
func TestDoubt(t *testing.T) {
	n, _ := masterOf(t, 0)
	n.host.(*fakeHost).has = FieldDeadlines
	own := &Replica{node: n, peer: &fakePeer{}, onDisk: -1}
	require.NoError(t, own.tell([]byte("capa"), []byte(ownKind)))
	require.True(t, n.resume(own, n.id, 1))
	require.Zero(t, n.Offset())

	peer := &fakePeer{}
	r := &Replica{node: n, peer: peer, onDisk: -1}
	require.True(t, n.resume(r, n.id, 1))
	ack, end := int64(len(getAck)), n.Offset()
	n.ack(r, ack, -1)
	require.Zero(t, r.acked)
	for range 3 {
		n.ack(r, 2*ack, -1)
	}
	require.Zero(t, r.acked)
	n.ack(r, end, -1)
	require.Equal(t, end, r.acked)
	require.Zero(t, peer.ended)
	require.Empty(t, own.asked)
}

// TestFeaturesOf: what is looked for in the history.
func TestFeaturesOf(t *testing.T) {
	payload := func(tag byte, version byte) string {
		return string(append([]byte{tag, 1, 2, 3, version, 0}, make([]byte, 8)...))
	}
	for _, c := range []struct {
		words []string
		want  Features
	}{
		{[]string{"HSET", "k", "f", "v"}, 0},
		{[]string{"HPEXPIREAT", "k", "1", "FIELDS", "1", "f"}, FieldDeadlines},
		{[]string{"HPERSIST", "k", "FIELDS", "1", "f"}, FieldDeadlines},
		{[]string{"BF.MADD", "k", "f"}, BloomFilters},
		{[]string{"RESTORE", "k", "0", payload(0, 10), "REPLACE"}, 0},
		{[]string{"RESTORE", "k", "0", payload(25, 12), "REPLACE"}, FieldDeadlines},
		{[]string{"RESTORE", "k", "0", payload(7, 10), "REPLACE"}, BloomFilters},
		{[]string{"RESTORE", "k", "0", "short"}, 0},
	} {
		var args [][]byte
		for _, w := range c.words {
			args = append(args, []byte(w))
		}
		require.Equal(t, c.want, featuresOf(args), c.words)
	}
}
