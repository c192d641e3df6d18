package info

import "runtime/debug"

// Build describes the source that the program was built from.
type Build struct {
	Revision string // commit of the repository; zeros: not known
	Modified bool   // the source had uncommitted changes
}

// ReadBuild reads the Build from the program.
func ReadBuild() Build {
	b := Build{Revision: "0000000000000000000000000000000000000000"}
	program, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range program.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= len(b.Revision):
			b.Revision = s.Value
		case s.Key == "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
