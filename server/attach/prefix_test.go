package attach

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// attachment is that a client is attached to an owner or a prefix.
type attachment struct {
	c        *client
	text     string
	isPrefix bool
}

func (a attachment) keeps(owner string) bool {
	return a.text == owner || a.isPrefix && strings.HasPrefix(owner, a.text)
}

// prefixModel is a table, and beside it all attachments and all locks.
type prefixModel struct {
	*world
	random  *rand.Rand
	clients []*client
	all     []attachment
	held    map[string]int64 // by owner
}

// name is of few letters, so that many names begin with others.
func (m *prefixModel) name(least int) string {
	var b strings.Builder
	for range least + m.random.IntN(4) {
		b.WriteByte("ab"[m.random.IntN(2)])
	}
	return b.String()
}

func (m *prefixModel) kept(owner string) bool {
	return slices.ContainsFunc(m.all, func(a attachment) bool { return a.keeps(owner) })
}

func (m *prefixModel) prefixed() bool {
	return slices.ContainsFunc(m.all, func(a attachment) bool { return a.isPrefix })
}

// know tells the table of a lock, as the server does.
func (m *prefixModel) know(owner string) {
	if o := m.Track([]byte(owner)); o != nil && m.held[owner] > 0 && m.Find(0, "of "+owner, owner) == nil {
		m.Hold(o, 0, "of "+owner, m.held[owner])
	}
}

func (m *prefixModel) begin(a attachment) {
	switch {
	case slices.Contains(m.all, a):
	case !a.isPrefix:
		m.attach(a.c, a.text)
		m.know(a.text)
		m.all = append(m.all, a)
	default:
		first := m.AttachPrefix(a.c, &a.c.attachments, []byte(a.text))
		require.Equal(m, !m.prefixed(), first)
		for owner := range m.held {
			if first {
				m.know(owner)
			}
		}
		m.all = append(m.all, a)
	}
}

func (m *prefixModel) end(i int) {
	a := m.all[i]
	m.all = slices.Delete(m.all, i, i+1)
	var want, got []string
	for owner := range m.held {
		if a.keeps(owner) && !m.kept(owner) {
			want = append(want, "of "+owner)
		}
	}
	if a.isPrefix {
		for _, l := range m.DetachPrefix(a.c, &a.c.attachments, a.text) {
			got = append(got, l.Key)
		}
	} else {
		got = m.detach(a.c, a.text)
	}
	require.ElementsMatch(m, want, got, "%v", a)
}

func (m *prefixModel) step(token int64) {
	if more := m.Forget(m.random.IntN(3)); !more && !m.prefixed() { // no owner is left that is not attached
		for name, o := range m.owners {
			require.NotEmpty(m, o.By, name)
		}
	}
	switch n := m.random.IntN(10); {
	case n < 4:
		m.begin(attachment{m.clients[m.random.IntN(3)], m.name(1), m.random.IntN(2) == 0})
	case n < 7 && len(m.all) > 0:
		m.end(m.random.IntN(len(m.all)))
	default:
		owner := m.name(2)
		if m.held[owner] == 0 {
			m.held[owner] = token
			m.know(owner)
			return
		}
		delete(m.held, owner)
		if l := m.Find(0, "of "+owner, owner); l != nil {
			m.Lose(l, Deleted)
		}
	}
}

func (m *prefixModel) check(owner string) {
	require.Equal(m, len(m.all) > 0, m.InUse())
	require.Equal(m, m.prefixed(), m.HasPrefixes())
	require.Equal(m, m.kept(owner), m.IsAttached([]byte(owner)), owner)
	var want, got []string
	for _, a := range m.all {
		if a.keeps(owner) && !slices.Contains(want, a.c.name) {
			want = append(want, a.c.name)
		}
	}
	to, _ := m.All([]byte(owner))
	for _, c := range to {
		got = append(got, c.name)
	}
	require.ElementsMatch(m, want, got)
	for _, c := range m.clients {
		besides := slices.ContainsFunc(m.all, func(a attachment) bool { return a.c != c && a.keeps(owner) })
		require.Equal(m, besides, m.AttachedByOther(c, []byte(owner)))
	}
	want, got = nil, nil
	for name := range m.held {
		if m.prefixed() && strings.HasPrefix(name, owner) {
			want = append(want, name)
		}
	}
	m.EachUnder(owner, func(l *Lock[*client]) { got = append(got, l.Owner.Name) })
	require.ElementsMatch(m, want, got, "under %s", owner)
}

// TestPrefixes compares random attachments to owners and prefixes with a model that looks at all of them.
func TestPrefixes(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range 200 {
		m := &prefixModel{world: open(t), random: random, held: map[string]int64{},
			clients: []*client{{name: "0"}, {name: "1"}, {name: "2"}}}
		for step := range 60 {
			m.step(int64(step + 1))
			for range 5 {
				m.check(m.name(1))
			}
		}
		for len(m.all) > 0 {
			m.end(0)
		}
		require.Empty(t, m.owners)
		require.Zero(t, m.prefixes.sorted.Len()+len(m.prefixes.lengths))
		for _, c := range m.clients {
			require.Zero(t, c.attachments.Bytes())
		}
	}
}

// All locks are known while there is a prefix, so a search looks at the owners under its prefix alone.
func TestASearchByPrefixLooksAtNoOtherOwner(t *testing.T) {
	w, a := open(t), &client{}
	require.True(t, w.AttachPrefix(a, &a.attachments, []byte("program1")))
	for i := range 1000 {
		w.Hold(w.Track(fmt.Appendf(nil, "program%d:x", i%7)), 0, fmt.Sprint("k", i), 1)
	}
	looked := 0
	w.EachUnder("program3", func(l *Lock[*client]) {
		require.Equal(t, "program3:x", l.Owner.Name)
		looked++
	})
	require.Equal(t, 143, looked)
}
