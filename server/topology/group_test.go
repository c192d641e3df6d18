package topology

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder keeps the changes that a group reports to its host.
type recorder struct{ changes []Change }

func (r *recorder) Switched(c Change) { r.changes = append(r.changes, c) }

func trio(leader string, term int64) View {
	v := View{Term: term, AtMS: term * 1000}
	for i, name := range []string{"a", "b", "c"} {
		v.Members = append(v.Members, Member{ID: NodeID(name), Host: "10.0.0.1", Port: 7000 + i, Up: true})
	}
	if leader != "" {
		v.Leader = NodeID(leader)
	}
	return v
}

// A view that cannot be is refused, and changes nothing.
func TestUpdateRefuses(t *testing.T) {
	g := New(GroupOptions{})
	require.NoError(t, g.Update(trio("a", 1)))
	for name, spoil := range map[string]func(v *View){
		"a leader of another group": func(v *View) { v.Leader = NodeID("x") },
		"a short id":                func(v *View) { v.Members[1].ID = "b" },
		"twice":                     func(v *View) { v.Members[1].ID = v.Members[0].ID },
		"nowhere":                   func(v *View) { v.Members[1].Host = "" },
		"no port":                   func(v *View) { v.Members[1].Port = 0 },
		"a high port":               func(v *View) { v.Members[1].Port = 65536 },
	} {
		v := trio("b", 2)
		spoil(&v)
		require.Error(t, g.Update(v), name)
		require.Equal(t, NodeID("a"), g.View().Leader)
	}
}

// The host hears when the leader changes, and only then; who was it last is known until it leaves the group.
func TestChangesAreReported(t *testing.T) {
	g, host := New(GroupOptions{Form: Sentinel, Name: "it"}), &recorder{}
	g.Attach(host)
	at := func(name string) *Connection { return &Connection{Self: NodeID(name)} }
	steps := []struct {
		leader, message string
		changes         int
	}{
		{"", "", 0}, {"a", "", 1}, {"a", "", 1}, {"", "", 2}, {"a", "", 3}, {"", "", 4},
		{"b", "it 10.0.0.1 7000 10.0.0.1 7001", 5}, {"c", "it 10.0.0.1 7001 10.0.0.1 7002", 6},
	}
	for i, step := range steps {
		require.NoError(t, g.Update(trio(step.leader, int64(i))))
		require.Len(t, host.changes, step.changes, i)
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, name == step.leader, g.Leads(at(name)), "%d %s", i, name)
		}
		if step.changes > 0 {
			text, ok := g.SwitchMessage(host.changes[step.changes-1])
			require.Equal(t, step.message, text, i)
			require.Equal(t, step.message != "", ok)
		}
	}
	require.NoError(t, g.Update(trio("", 9)))
	require.NotNil(t, g.seen.Load().last)
	v := trio("", 10)
	v.Members = v.Members[:2]
	require.NoError(t, g.Update(v))
	require.Nil(t, g.seen.Load().last, "c has left")
	require.True(t, (*Group)(nil).Leads(&Connection{}), "a server that stands alone")
}

// Since when a member is up, or down, is remembered over views.
func TestSinceWhen(t *testing.T) {
	g := New(GroupOptions{})
	for term := int64(1); term <= 5; term++ {
		v := trio("a", term)
		v.Members[1].Up = term < 3
		require.NoError(t, g.Update(v))
	}
	require.EqualValues(t, 1000, g.seen.Load().sinceMS[NodeID("a")])
	require.EqualValues(t, 3000, g.seen.Load().sinceMS[NodeID("b")])
}
