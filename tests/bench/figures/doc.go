// Package figures writes the results of the benchmarks: docs/benchmarks.json, and from that file alone
// docs/BENCHMARKS.md, the picture docs/benchmarks.svg, and the parts between marks in the README and in
// docs/MEMORY.md. So no two pages can have different numbers.
//
// It owns the form of these files. It must not measure anything itself: the measurements and the targets
// belong to the suites. To publish another figure, make its suite record it by name
// (benchkit.Report.AddFigure), and use the name in readme.go, memory.go or picture.go.
package figures
