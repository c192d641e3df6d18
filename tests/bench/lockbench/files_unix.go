//go:build unix

package lockbench

import "golang.org/x/sys/unix"

// raiseOpenFiles raises the limit of open files of this process and its children to at least need, if the
// system allows it. It returns the new limit.
func raiseOpenFiles(need uint64) (uint64, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || r.Cur >= need {
		return r.Cur, err
	}
	if more := (unix.Rlimit{Cur: need, Max: max(need, r.Max)}); unix.Setrlimit(unix.RLIMIT_NOFILE, &more) == nil {
		return need, nil
	}
	r.Cur = r.Max // the most that an ordinary process may have
	return r.Cur, unix.Setrlimit(unix.RLIMIT_NOFILE, &r)
}
