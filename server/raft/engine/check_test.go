package engine

import (
	"testing"

	hraft "github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"lockserver/server/raft"
)

// TestFindings: a majority of the voters is right. Without a majority, and with no more checksums to come,
// no member is right.
func TestFindings(t *testing.T) {
	const same, differs, undecided = raft.Same, raft.Differs, raft.Undecided
	for name, c := range map[string]struct {
		sums     string // a sum is a letter, of each member in its order; a hyphen: it is not known
		learners int    // so many of the last have no vote
		waits    bool   // for more sums
		found    []raft.Finding
	}{
		"all the same":                        {sums: "xxx", found: []raft.Finding{same, same, same}},
		"one differs":                         {sums: "xyx", found: []raft.Finding{same, differs, same}},
		"one differs, of five":                {sums: "xxyx-", waits: true, found: []raft.Finding{same, same, differs, same, ""}},
		"two differ from each other":          {sums: "xy-", found: []raft.Finding{undecided, undecided, ""}},
		"the third is awaited":                {sums: "xy-", waits: true, found: []raft.Finding{"", "", ""}},
		"three differ":                        {sums: "xyz", found: []raft.Finding{undecided, undecided, undecided}},
		"two of each":                         {sums: "xxyy", found: []raft.Finding{undecided, undecided, undecided, undecided}},
		"two are half of four, and no other":  {sums: "xx--", found: []raft.Finding{"", "", "", ""}},
		"one alone of three":                  {sums: "x--", found: []raft.Finding{"", "", ""}},
		"one alone":                           {sums: "x", found: []raft.Finding{same}},
		"learners have no vote":               {sums: "xxyyy", learners: 3, found: []raft.Finding{same, same, differs, differs, differs}},
		"a learner does not help":             {sums: "xyx", learners: 1, found: []raft.Finding{undecided, undecided, undecided}},
		"a learner alone differs from no one": {sums: "x-y", learners: 1, found: []raft.Finding{"", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []hraft.Server
			sums, want := map[string]string{}, map[string]raft.Finding{}
			for i := range c.sums {
				s := hraft.Server{ID: hraft.ServerID(rune('a' + i))}
				if i >= len(c.sums)-c.learners {
					s.Suffrage = hraft.Nonvoter
				}
				all = append(all, s)
				if sum := c.sums[i : i+1]; sum != "-" {
					sums[string(s.ID)] = sum
				}
				if c.found[i] != "" {
					want[string(s.ID)] = c.found[i]
				}
			}
			require.Equal(t, want, findingsOf(all, sums, !c.waits))
		})
	}
}

// TestHelloTellsChecksums: the checksums in a member's answer arrive, and sums of another version, or at
// another index, are not compared.
func TestHelloTellsChecksums(t *testing.T) {
	h := Hello{Peer: raft.Peer{ID: "a", Incarnation: "disk"}, Checks: true, Checksums: []raft.Checksum{{Index: 7, Sum: "1-ab"}, {Index: 9, Sum: "1-cd"}}}
	got, err := decodeHello(h.encode())
	require.NoError(t, err)
	require.Equal(t, h, got)
	is := heardOf{Hello: got}
	for _, c := range []struct {
		own raft.Checksum
		sum string
	}{{raft.Checksum{Index: 9, Sum: "1-xx"}, "1-cd"}, {raft.Checksum{Index: 9, Sum: "2-xx"}, ""}, {raft.Checksum{Index: 8, Sum: "1-xx"}, ""}, {raft.Checksum{}, ""}} {
		sum, ok := is.sumAt(c.own)
		require.Equal(t, c.sum, sum)
		require.Equal(t, c.sum != "", ok)
	}
	old := Hello{Peer: raft.Peer{ID: "a", Incarnation: "disk"}}
	got, err = decodeHello(old.encode())
	require.NoError(t, err)
	require.False(t, got.Checks, "a version that makes none is not awaited")
}
