package due

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded is a Firer that records its name.
type recorded struct {
	name  string
	fired *[]string
	then  func()
}

func (r *recorded) Fire() {
	*r.fired = append(*r.fired, r.name)
	if r.then != nil {
		r.then()
	}
}

// TestTimersFireInOrder: timers fire in the order of their times. A removed timer does not fire, and a moved
// one fires at its new time. A timer that is set in the past while another fires is fired in the same call.
func TestTimersFireInOrder(t *testing.T) {
	var ts Timers
	var fired []string
	made := make(map[string]*Timer)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		made[name] = &Timer{Of: &recorded{name: name, fired: &fired}}
	}
	_, any := ts.NextMS()
	require.False(t, any)
	for i, name := range []string{"e", "d", "c", "b"} {
		ts.Set(made[name], int64(50-10*i)) // b 20, c 30, d 40, e 50
	}
	ts.Remove(made["c"])
	ts.Remove(made["a"]) // it is not set, so this has no effect
	ts.Set(made["e"], 25)
	made["b"].Of.(*recorded).then = func() { ts.Set(made["a"], 1) }
	next, any := ts.NextMS()
	require.True(t, any)
	require.LessOrEqual(t, next, int64(20))
	none := func() int { return 0 }
	require.False(t, FireDue(&ts, 19, 100, none))
	require.Empty(t, fired)
	require.False(t, FireDue(&ts, 39, 100, none))
	require.Equal(t, []string{"b", "a", "e"}, fired)
	require.False(t, FireDue(&ts, 40, 100, none))
	require.Equal(t, []string{"b", "a", "e", "d"}, fired)
}

// TestBudgetBoundsTheWork: FireDue ends when its budget is spent, by timers or by the work that they report.
func TestBudgetBoundsTheWork(t *testing.T) {
	var ts Timers
	var fired []string
	spent := 0
	for range 10 {
		ts.Set(&Timer{Of: &recorded{name: "x", fired: &fired, then: func() { spent += 4 }}}, 1)
	}
	require.True(t, FireDue(&ts, 1, 10, func() int { return spent }))
	require.Len(t, fired, 2, "each costs 1 and 4")
	require.True(t, FireDue(&ts, 1, 3, func() int { return 0 }))
	require.Len(t, fired, 5)
	require.False(t, FireDue(&ts, 1, 100, func() int { return 0 }))
	require.Len(t, fired, 10)
}
