package hostile

import (
	"testing"

	"lockserver/tests/plant"
)

// faults are faults that hostile pipelines find, each of another kind.
var faults = []plant.Fault{
	// This fault was found by hand and led to this package: SADD four times and GEOHASH without a member, in
	// one write.
	plant.New("the look-ahead goes by the row", plant.Or("member-in", "at > 0"), plant.And("check-member", "false"),
		plant.Insert("geo-rows", `for i := range rows {
		if rows[i].Name == "geohash" {
			rows[i].MinArgs, rows[i].Args[1].Optional = 2, false
		}
	}`)),
	plant.New("the decoder trips over a word", plant.Insert("batch-words", `if string(args[from]) == "LCS" && len(args)-from == 4 {
		_ = args[len(args)]
	}`)),
	plant.New("a length is told twice", plant.Insert("list-length", `if n > 3 {
		c.Out.Int(int64(n))
	}`)),
	plant.New("an effect is forgotten", plant.And("hand-on", "len(effects) != 2")),
	plant.New("what stands behind a waiter is forgotten", plant.And("keep-commands", "len(w.todo)-ran != 3")),
}

// TestPlantedFaults shows that each fault is found, and shrunk to the few commands that it needs.
func TestPlantedFaults(t *testing.T) {
	hunt.Test(t, "../..", faults)
}
