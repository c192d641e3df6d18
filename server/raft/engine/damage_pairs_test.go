package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// mishap damages the files of a directory.
type mishap struct {
	what string
	do   func()
}

// mishaps are all that can become of whole files. Each file is removed, cut, doubled or extended, gets the
// bytes of another file, or changes places with it.
func (d *disky) mishaps() (all []mishap) {
	var paths []string
	for _, path := range slices.Sorted(maps.Keys(d.whole)) {
		if name := filepath.Base(path); name != memberFile && name != lockFile && name != charterFile {
			paths = append(paths, path)
		}
	}
	name := func(path string) string {
		is, err := filepath.Rel(d.dir, path)
		require.NoError(d.t, err)
		return is
	}
	put := func(path string, is []byte) func() {
		return func() {
			require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(d.t, os.WriteFile(path, is, 0o600))
		}
	}
	add := func(do func(), what ...any) { all = append(all, mishap{fmt.Sprintln(what...), do}) }
	for i, path := range paths {
		is := d.whole[path]
		add(func() { require.NoError(d.t, os.RemoveAll(path)) }, name(path), "is removed")
		for _, n := range []int{0, 1, len(is) / 4, len(is) / 2, len(is) - 1} {
			add(put(path, is[:min(max(0, n), len(is))]), name(path), "is cut to", n, "bytes of", len(is))
		}
		add(put(path, slices.Concat(is, is)), name(path), "is there twice, one behind the other")
		add(put(path, slices.Concat(is, []byte("more"))), name(path), "has more bytes behind it")
		for n, other := range paths {
			if n == i {
				continue
			}
			add(put(path, d.whole[other]), name(path), "has the bytes of", name(other))
			if n > i {
				first, second := put(path, d.whole[other]), put(other, is)
				add(func() { first(); second() }, name(path), "and", name(other), "are swapped")
			}
		}
	}
	return all
}

// TestEveryFaultOfFiles: whatever becomes of a file of a member, it is found at the start, or the member goes
// on from all that it had. So it is if two things happen to one disk, unless one of them could have been a
// process that ended in the middle.
func TestEveryFaultOfFiles(t *testing.T) {
	d := newDisky(t)
	mishaps := d.mishaps()
	found := 0
	for _, f := range mishaps {
		f.do()
		if d.outcome(f.what) != nil {
			found++
		}
		d.restore()
	}
	t.Logf("%d of %d mishaps are found", found, len(mishaps))
	require.Greater(t, found, len(mishaps)/2)
	seed := testkit.Seed(t)
	chance := rand.New(rand.NewPCG(seed, 2))
	for range testkit.Steps(100, 5000) {
		a, b := mishaps[chance.IntN(len(mishaps))], mishaps[chance.IntN(len(mishaps))]
		a.do()
		b.do()
		d.outcome(a.what + b.what)
		d.restore()
	}
}
