package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/store/cow"
	"lockserver/tests/testkit"
)

// groupModel is a simple group: the consumer of each entry.
type groupModel struct {
	last      ID
	consumers map[string]bool
	owner     map[ID]string
	count     map[ID]uint64
}

func describeModel(m *groupModel) string {
	names := make([]string, 0, len(m.consumers))
	for name := range m.consumers {
		names = append(names, name)
	}
	slices.Sort(names)
	ids := make([]ID, 0, len(m.owner))
	for id := range m.owner {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, ID.Compare)
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", m.last, names)
	for _, id := range ids {
		fmt.Fprintf(&b, " %v %s %d", id, m.owner[id], m.count[id])
	}
	return b.String()
}

// describeGroup describes a group in the same way. It checks that the entries of each consumer agree with
// those of the group.
func describeGroup(t *testing.T, g *Group) string {
	var b strings.Builder
	names := []string{}
	for _, c := range g.Consumers() {
		names = append(names, c.Name())
	}
	fmt.Fprintf(&b, "%v %v", g.LastID(), names)
	total := 0
	g.EachPending(ID{}, func(p Pending) bool {
		fmt.Fprintf(&b, " %v %s %d", p.ID, g.Owner(p).Name(), p.Deliveries)
		total++
		return true
	})
	require.Equal(t, total, g.PendingLen())
	for _, c := range g.Consumers() {
		n := 0
		g.PendingOf(c, ID{}, func(p Pending) bool {
			require.Same(t, c, g.Owner(p))
			n++
			return true
		})
		require.Equal(t, n, c.PendingLen())
		total -= n
	}
	require.Zero(t, total)
	return b.String()
}

// TestGroupsAgainstModel: groups work like a map, and a cut does not change.
func TestGroupsAgainstModel(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	ep := new(cow.Epoch)
	s := New(ep)
	models := map[string]*groupModel{}
	type view struct {
		s    *Stream
		says map[string]string
	}
	var views []view
	check := func(s *Stream, says map[string]string) {
		require.Len(t, s.Groups(), len(says))
		for name, want := range says {
			require.Equal(t, want, describeGroup(t, s.Group([]byte(name))))
		}
	}
	now := func() map[string]string {
		says := map[string]string{}
		for name, m := range models {
			says[name] = describeModel(m)
		}
		return says
	}
	for range 20_000 {
		if ep.Shared(s.Stamp()) {
			s = s.Clone()
		}
		name := fmt.Sprint("g", r.IntN(3))
		switch r.IntN(400) {
		case 0:
			require.Equal(t, models[name] != nil, s.DestroyGroup([]byte(name)))
			delete(models, name)
		case 1, 2:
			ep.Cut()
			views = append(views, view{s, now()})
		case 3:
			if len(views) > 0 {
				check(views[0].s, views[0].says)
				views = views[1:]
				ep.Release()
			}
		case 4, 5, 6, 7:
			last := ID{uint64(r.IntN(100)), 0}
			require.Equal(t, models[name] == nil, s.CreateGroup([]byte(name), last, UnknownRead))
			if models[name] == nil {
				models[name] = &groupModel{last, map[string]bool{}, map[ID]string{}, map[ID]uint64{}}
			}
		default:
			if m := models[name]; m != nil {
				changeGroup(t, r, s.EditGroup([]byte(name)), m)
			} else {
				require.Nil(t, s.EditGroup([]byte(name)))
			}
		}
	}
	check(s, now())
	for _, v := range views {
		check(v.s, v.says)
	}
	check(s.Copy(), now())
}

func changeGroup(t *testing.T, r *rand.Rand, g *Group, m *groupModel) {
	name := fmt.Sprint("c", r.IntN(4))
	id := ID{uint64(r.IntN(200)), uint64(r.IntN(2))}
	c := g.Consumer([]byte(name))
	require.Equal(t, m.consumers[name], c != nil)
	switch n := r.IntN(100); {
	case n < 3:
		pending, ok := g.RemoveConsumer([]byte(name))
		require.Equal(t, m.consumers[name], ok)
		delete(m.consumers, name)
		for id, owner := range m.owner {
			if owner == name {
				delete(m.owner, id)
				pending--
			}
		}
		require.Zero(t, pending)
	case n < 60:
		if c == nil {
			c = g.AddConsumer([]byte(name), 1)
			m.consumers[name] = true
		}
		deliveries := uint64(r.IntN(5))
		g.SetPending(Pending{ID: id, Deliveries: deliveries}, c)
		m.owner[id], m.count[id] = name, deliveries
	case n < 95:
		_, had := m.owner[id]
		_, has := g.Pending(id)
		require.Equal(t, had, has)
		require.Equal(t, had, g.Acknowledge(id))
		delete(m.owner, id)
	default:
		g.SetID(id, 7)
		m.last = id
	}
}
