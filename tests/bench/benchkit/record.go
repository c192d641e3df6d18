package benchkit

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// Record holds the results of a run for docs/benchmarks.json: the report for people, and the figures by name
// for programs.
type Record struct {
	// Text is the report in markdown by lines, without the lines about the machine and the targets.
	Text []string `json:"text"`
	// Figures are single numbers. Their names end in the unit.
	Figures map[string]float64 `json:"figures"`
	// Checks holds the figures with targets.
	Checks []Check `json:"checks"`
}

// Check says how a figure compares with its target.
type Check struct {
	What   string `json:"what"`
	Got    string `json:"got"`
	Target string `json:"target"` // begins with "at most" or "at least"
	Met    bool   `json:"met"`
}

// AddFigure adds a figure with a name to the record. A figure that could not be computed is left out.
func (r *Report) AddFigure(name string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	if r.figures == nil {
		r.figures = make(map[string]float64)
	}
	r.figures[name] = value
}

// AddPair adds a figure of both servers: name.redis and name.lockserver.
func (r *Report) AddPair(name string, redis, ours float64) {
	r.AddFigure(name+".redis", redis)
	r.AddFigure(name+".lockserver", ours)
}

// Record returns the results so far.
func (r *Report) Record() Record {
	rec := Record{Text: strings.Split(strings.TrimSpace(r.kept.String()), "\n"), Figures: maps.Clone(r.figures)}
	for _, c := range r.checks {
		rec.Checks = append(rec.Checks, Check{What: c.what, Got: c.show(c.got), Target: c.bound(), Met: c.passed()})
	}
	return rec
}

// Targets returns the chapter about the targets.
func Targets(checks []Check) string {
	met := 0
	var missed []string
	for _, c := range checks {
		if c.Met {
			met++
		} else {
			missed = append(missed, "- "+c.What+": "+c.Got+", the target is "+c.Target)
		}
	}
	lines := []string{"## Targets", "", Grouped(float64(met)) + " of " + Grouped(float64(len(checks))) + " met."}
	if len(missed) > 0 {
		lines = append(lines, "", "Missed:")
	}
	return strings.Join(slices.Concat(lines, missed), "\n")
}
