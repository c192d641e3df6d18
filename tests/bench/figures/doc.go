// Package figures writes what the benchmarks have found: docs/benchmarks.json, and from that file alone
// docs/BENCHMARKS.md, the picture docs/benchmarks.svg, and what stands between marks in the README and in
// docs/MEMORY.md. So no two pages can claim different numbers.
//
// It owns the form of these files. It must not measure anything itself: what is measured, and the targets,
// belong to the suites. To claim another figure, have its suite record it by name
// (benchkit.Report.AddFigure), and use the name in readme.go, memory.go or picture.go.
package figures
