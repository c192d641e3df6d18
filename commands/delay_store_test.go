package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store"
)

// TestEffectsThatStoreRules: an effect that gives a stream its entries stores a rule if one of them recurs,
// whatever command it comes from.
func TestEffectsThatStoreRules(t *testing.T) {
	f := newDelays(t)
	recurs := func(db int, key []byte) bool { return f.store.DB(db).Peek(key).Recurs() }
	stored := func(args ...string) bool {
		e := store.Effect{}
		for _, a := range args {
			e.Args = append(e.Args, []byte(a))
		}
		return StoreRules([]store.Effect{e}, recurs)
	}
	stores := func(args ...string) bool {
		t.Helper()
		f.store.TakeEffects()
		require.False(t, f.do(args...).IsError(), args)
		return StoreRules(f.store.TakeEffects(), recurs)
	}
	const entries = ":delayed:entries"
	require.False(t, stores("DELAY.ADD", "s", "PX", "1000", "ID", "once", "f", "5*v"))
	require.True(t, stores("DELAY.ADD", "s", "EVERY", "1000", "ID", "job", "f", "v"))
	require.True(t, stores("COPY", "{s}"+entries, "{u}"+entries))
	require.False(t, stores("COPY", "{s}"+entries, "plain"), "a hash of another name has no entries")
	require.True(t, stores("COPY", "plain", "{s}"+entries, "DB", "1"))
	require.True(t, stores("COPY", "plain", "{v}"+entries))
	require.True(t, stores("MOVE", "{v}"+entries, "2"))
	require.True(t, stores("RENAME", "plain", "{v}"+entries))
	require.True(t, stored("RESTORE", "{v}"+entries, "0", "payload", "REPLACE", "ABSTTL"), "the payload has been restored before")
	require.False(t, stored("RESTORE", "plain", "0", "payload", "REPLACE", "ABSTTL"))

	require.False(t, stores("DELAY.CANCEL", "s", "job"))
	require.False(t, stores("COPY", "{s}"+entries, "{x}"+entries), "no entry recurs")
	require.False(t, stores("MOVE", "{x}"+entries, "2"))
}
