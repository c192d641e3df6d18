package commands

import (
	"bytes"
	"testing"
)

// FuzzResolveAndKeys: for any input, resolving a call and finding its keys neither panics nor gives an index
// outside of the call.
func FuzzResolveAndKeys(f *testing.F) {
	for _, seed := range []string{
		"get\x00a", "CLIENT\x00list", "client|list\x00x", "mset\x00a\x00b\x00c", "zunion\x002\x00a\x00b",
		"eval\x00s\x009223372036854775807\x00a", "xread\x00streams\x00a\x000", "xreadgroup\x00group\x00g\x00c\x00streams",
		"georadius\x00a\x000\x000\x001\x00m\x00store", "blmpop\x000\x00-1\x00a\x00left", "nosuch\x00\r\n", "",
	} {
		f.Add([]byte(seed))
	}
	table := redisTable(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		args := bytes.Split(line, []byte{0})
		row, err := table.Resolve(args)
		if err != nil {
			if bytes.ContainsAny([]byte(err.Error()), "\r\n") {
				t.Fatalf("the error is more than a line: %q", err)
			}
			return
		}
		before := []int{-1}
		positions, err := table.KeyPositions(row, args, before)
		if err != nil && len(positions) != 1 {
			t.Fatalf("%q: %v with %v", args, err, positions)
		}
		for _, p := range positions[1:] {
			if p < row.nameWords() || p >= len(args) {
				t.Fatalf("%q: key at %d", args, p)
			}
		}
	})
}
