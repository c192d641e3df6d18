package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// span is a range of addresses.
type span struct{ from, to uintptr }

// programSpans returns the mappings of the program's own file that were not written to. The loader, a
// debugger or a probe may have written to others, and their changes would be lost. It is nil if the system
// does not report them.
func programSpans() []span {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	return cleanSpans(f, path)
}

// cleanSpans finds in a text like /proc/self/smaps the read-only mappings of a file without private pages:
// changes of the loader (relocations) would be lost.
func cleanSpans(smaps io.Reader, path string) (list []span) {
	var at span
	var clean bool
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) >= 6 && strings.Contains(words[0], "-") && !strings.HasSuffix(words[0], ":"):
			from, to, _ := strings.Cut(words[0], "-")
			first, err := strconv.ParseUint(from, 16, 64)
			last, err2 := strconv.ParseUint(to, 16, 64)
			at = span{uintptr(first), uintptr(last)}
			clean = err == nil && err2 == nil && strings.Join(words[5:], " ") == path && words[1][1] == '-'
		case clean && len(words) == 3 && words[0] == "Anonymous:" && words[1] == "0":
			list = append(list, at)
		}
	}
	return list
}

// leaveProgram tells the system that the pages of the program are not needed for now: most of them have been
// read at the start and never again. A page that is needed again comes at once from the system's copy of the
// file.
func leaveProgram(spans []span) {
	for _, s := range spans {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.from, s.to-s.from, syscall.MADV_DONTNEED)
	}
}
