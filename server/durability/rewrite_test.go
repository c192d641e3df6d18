package durability

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/persistence"
	"lockserver/store"
)

// TestRewritingAsCommandsMakesNoGarbageByTheKey: strings, with and without a deadline,
// take no memory of their own.
func TestRewritingAsCommandsMakesNoGarbageByTheKey(t *testing.T) {
	st := store.New(1, store.Limits{})
	const keys = 5000
	for i := range keys {
		st.DB(0).Loading().String([]byte("a key with a name of forty bytes and more "+strconv.Itoa(i)), []byte("value"), int64(i%2)*4e12)
	}
	got := testing.AllocsPerRun(3, func() {
		snap := st.Cut()
		err := writeCommands(io.Discard, snap, persistence.SaveOptions{Breathe: func(int) {}})
		snap.Release()
		require.NoError(t, err)
	})
	require.Less(t, got, 100.0)

	var out bytes.Buffer
	snap := st.Cut()
	defer snap.Release()
	require.NoError(t, writeCommands(&out, snap, persistence.SaveOptions{Breathe: func(int) {}}))
	require.Equal(t, keys, bytes.Count(out.Bytes(), []byte("\r\n$3\r\nSET\r\n")))
	require.Equal(t, keys/2, bytes.Count(out.Bytes(), []byte("\r\n$9\r\nPEXPIREAT\r\n")))
}
