package hostile

import (
	"testing"

	"lockserver/internal/plant"
)

// faults are mistakes that hostile pipelines show, each of another kind.
var faults = []plant.Fault{
	// What was found by hand and began all this: SADD four times and GEOHASH without a member, in one write.
	plant.New("the look-ahead goes by the row", plant.Instead("commands/derive.go",
		`	if at := r.member; at > 0 && at < len(args) {`,
		`	if at := r.member; at > 0 && (at < len(args) || planted("the look-ahead goes by the row")) {`),
		plant.Instead("commands/check.go", `	case r.member >= least:`,
			`	case r.member >= least && !planted("the look-ahead goes by the row"):`),
		plant.Instead("commands/geo_table.go", `		{Name: "geohash", Group: Geo, Since: "3.2.0", Flags: ReadOnly, Run: geohashText,`,
			`		{Name: "geohash", Group: Geo, Since: "3.2.0", Flags: ReadOnly, Run: geohashText, MinArgs: map[bool]int{true: 2}[planted("the look-ahead goes by the row")],`),
		plant.Instead("commands/geo_table.go", `Args: []Arg{Key("key", RO|Access), Opt(Str("member").Many())}},

		{Name: "geopos"`, `Args: []Arg{Key("key", RO|Access), {Name: "member", Multiple: true, Optional: !planted("the look-ahead goes by the row")}}},

		{Name: "geopos"`)),
	plant.New("the decoder trips over a word", plant.Instead("server/batch.go", `		b.args = args // perhaps elsewhere now`,
		`		if planted("the decoder trips over a word") && string(args[from]) == "LCS" && len(args)-from == 4 {
			_ = args[len(args)]
		}
		b.args = args // perhaps elsewhere now`)),
	plant.New("a length is told twice", plant.Instead("commands/list_read.go", `	n := 0
	if l != nil {
		n = l.Len()`, `	n := 0
	if l != nil {
		if n = l.Len(); n > 3 && planted("a length is told twice") {
			c.Out.Int(int64(n))
		}`)),
	plant.New("an effect is forgotten", plant.Instead("server/executor.go", `effects != nil && ex.durable.Records() && ex.failed == nil {`,
		`effects != nil && ex.durable.Records() && ex.failed == nil && !(len(effects) == 2 && planted("an effect is forgotten")) {`)),
	plant.New("what stands behind a waiter is forgotten", plant.Instead("server/feed.go", `	if ran < len(w.todo) && !hangUp {`,
		`	if ran < len(w.todo) && !hangUp && !(len(w.todo)-ran == 3 && planted("what stands behind a waiter is forgotten")) {`)),
}

// TestPlantedFaults shows that each is found, and shrunk to what matters of it.
func TestPlantedFaults(t *testing.T) {
	hunt.Test(t, "../..", faults)
}
