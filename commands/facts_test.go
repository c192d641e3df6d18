package commands

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/tests/tabletest"
)

func TestGoldenIsReadAsItIsWritten(t *testing.T) {
	all := tabletest.Golden()
	require.Greater(t, len(all), 300)
	golden, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	require.Equal(t, string(golden), tabletest.Format(all))
	require.Contains(t, all["get"], `keys 0: RO access; index {"index":1}; range {"lastkey":0 "keystep":1 "limit":0}`)
}

func text(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Str: s} }

func mapOf(pairs ...resp.Value) resp.Value { return resp.Value{Kind: resp.Map, Elems: pairs} }

// TestNewerArgumentsAreLeftOut: arguments and deprecations that are newer than the golden file are left out.
func TestNewerArgumentsAreLeftOut(t *testing.T) {
	arg := func(name, since string) resp.Value {
		return mapOf(text("name"), text(name), text("type"), text("string"), text("display_text"), text("shown"), text("since"), text(since))
	}
	docs := mapOf(text("x"), mapOf(text("summary"), text("-"), text("group"), text("generic"), text("since"), text("1.0.0"),
		text("deprecated_since"), text("8.0.0"),
		text("arguments"), resp.Value{Kind: resp.Array, Elems: []resp.Value{
			arg("old", "6.2.0"), arg("same", "7.4.1"), arg("newer", "7.4.2"), arg("newest", "8"),
		}}))
	all := map[string]tabletest.Facts{}
	tabletest.DescribeDocs(t, all, docs)
	require.Equal(t, tabletest.Facts{"group generic", "since 1.0.0", `arg "old" string shown="shown" since=6.2.0`, `arg "same" string shown="shown" since=7.4.1`}, all["x"])
	require.Equal(t, tabletest.Facts{"group generic", "since 1.0.0"}, all["x"].Without("arg"))
}
