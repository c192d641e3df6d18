package costbench

import (
	"errors"
	"strings"
	"testing"

	"lockserver/tests/bench/benchkit"

	"github.com/stretchr/testify/require"
)

func TestRowOfTheCPUTable(t *testing.T) {
	var out strings.Builder
	b := &bench{Run: benchkit.Run{Report: &benchkit.Report{W: &out}}}
	c := comparison{kase: kase{name: "LOCK", native: true}, rps: benchkit.Rounds{{50000, 40000}, {90000, 90000}}, cpuUS: benchkit.Rounds{{10, 20}, {6, 8}}}
	require.Equal(t, []string{"LOCK", "45,000", "90,000", "2.00x", "15.00", "7.00", "0.47x (0.40-0.60)", "≤ 0.60x pass"}, b.row(c, 1))
	require.Equal(t, "≤ 0.30x **MISS**", b.row(c, 16)[7])
	c.native = false
	require.Equal(t, "≤ 1.00x pass", b.row(c, 1)[7])
	require.Equal(t, "≤ 0.65x pass", b.row(c, 16)[7])
	c.err = errors.New("no XADD")
	require.Equal(t, "could not run", b.row(c, 16)[7])
	require.Equal(t, []string{"LOCK at P=16: no XADD"}, b.Report.Failures)
}

// TestOwnWork: the CPU above the floor is compared, unless the noise exceeds it.
func TestOwnWork(t *testing.T) {
	var out strings.Builder
	b := &bench{Run: benchkit.Run{Report: &benchkit.Report{W: &out}}}
	c := comparison{kase: kase{name: "SET"}, cpuUS: benchkit.Rounds{{11, 12, 13}, {8, 9, 10}}, floorUS: []float64{7, 7, 8}}
	require.Equal(t, []string{"SET", "7.00", "5.00", "2.00", "0.40x"}, b.ownRow(c, 1))
	c.floorUS = []float64{9.5}
	require.Equal(t, []string{"SET", "9.50", "2.50", "-0.50", "?"}, b.ownRow(c, 16))
	require.Equal(t, map[string]float64{"cpu.SET.p1.floor.us": 7, "cpu.SET.p1.own.us.redis": 5, "cpu.SET.p1.own.us.lockserver": 2,
		"cpu.SET.p16.floor.us": 9.5, "cpu.SET.p16.own.us.redis": 2.5, "cpu.SET.p16.own.us.lockserver": -0.5}, b.Report.Record().Figures)
	b.ownTable(nil, 1)
	require.Empty(t, out.String())
}

// TestCasesOnTheFloor: the floor gets the requests of lockserver, and every reply is +OK.
func TestCasesOnTheFloor(t *testing.T) {
	p, err := floorProduct()
	require.NoError(t, err)
	require.False(t, (&bench{}).aboveFloor(cases()[0]), "it is measured in the section cpu alone")
	b := &bench{floor: p}
	measured := 0
	for _, c := range cases() {
		if !b.aboveFloor(c) {
			continue
		}
		measured++
		on := c.onFloor()
		require.Nil(t, on.verify)
		if c.traffic != nil {
			require.Equal(t, "+OK", on.traffic(p, 10).Want(1))
			require.Equal(t, c.traffic(product{native: true}, 10).Append(nil, 3), on.traffic(p, 10).Append(nil, 3))
		}
	}
	require.Equal(t, 13, measured)
}
