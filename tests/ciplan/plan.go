package main

import (
	"slices"
	"strings"
)

// budget limits the fast tier, in seconds on two cores. A change that touches more suites than fit leaves the
// last suites of the table to the full tier.
const budget = 1800

// job is one command of a run.
type job struct {
	name, command string
	alone         bool
	why           string
	left          bool // the suite does not fit into the budget, and does not run
}

// cost is about how many seconds a suite adds to a run. Two suites run at a time, unless a suite runs alone.
func (s *suite) cost() int {
	if s.alone {
		return s.seconds
	}
	return (s.seconds + 1) / 2
}

// change is the input of a plan.
type change struct {
	files []string // files that differ from the base. nil means unknown: then every path counts as touched
	full  bool
}

// plan returns the commands to run for a change, in the order of the table.
func plan(suites []suite, c change) (jobs []job) {
	spent := 0
	for _, s := range suites {
		if s.always {
			spent += s.cost()
		}
	}
	docsOnly := c.files != nil && !slices.ContainsFunc(c.files, isCode)
	for _, s := range suites {
		command, why := s.fast, ""
		switch {
		case c.full:
			why = "full tier"
			if s.full != "" {
				command = s.full
			}
		case docsOnly:
			if s.docs {
				why = "every change of pages"
			}
		case s.always:
			why = "every change of code"
		case s.fast == "":
		case touches(s.paths, c.files):
			why = "touched"
		}
		if why == "" || command == "" {
			continue
		}
		j := job{name: s.name, command: command, alone: s.alone, why: why}
		if !c.full && !s.always && !docsOnly {
			j.left = spent+s.cost() > budget
		}
		if !j.left && !s.always {
			spent += s.cost()
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// isCode reports whether the file can change what a program does. Pages and pictures cannot.
func isCode(file string) bool {
	if strings.HasPrefix(file, ".github/") {
		return true
	}
	return !slices.ContainsFunc([]string{".md", ".png", ".svg", ".txt"}, func(end string) bool {
		return strings.HasSuffix(file, end)
	}) || strings.Contains(file, "/testdata/")
}

// touches reports whether one of the files is one of the paths, or lies below it.
func touches(paths, files []string) bool {
	if files == nil {
		return true
	}
	for _, p := range paths {
		for _, f := range files {
			if f == p || strings.HasSuffix(p, "/") && strings.HasPrefix(f, p) {
				return true
			}
		}
	}
	return false
}
