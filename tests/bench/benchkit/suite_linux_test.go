package benchkit

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMeasureRunsWhatIsChosen: a section runs if it, or one of its parts, is named. Failures are in the
// report, and later sections still run.
func TestMeasureRunsWhatIsChosen(t *testing.T) {
	var ran []string
	section := func(name string, err error, parts ...string) Section {
		return Section{Name: name, Parts: parts, Run: func(context.Context) error {
			ran = append(ran, name)
			return err
		}}
	}
	var run Run
	s := Suite{Name: "x", Prepare: func(_ context.Context, r Run) ([]string, error) { run = r; return []string{"- etcd: 3"}, nil },
		Sections: []Section{section("a", errors.New("broke"), "SET"), section("b", nil, "GET"), section("c", nil)}}
	require.Equal(t, []string{"a", "b", "c", "SET", "GET"}, s.Selectable())
	measure := func(o Options, only ...string) (*Report, string) {
		ran = nil
		var out strings.Builder
		o.Binary = "no-such-program"
		r, err := s.Measure(t.Context(), o, only, nil, &out, io.Discard)
		require.NoError(t, err)
		return r, out.String()
	}
	r, out := measure(Options{Rounds: 3})
	require.Equal(t, []string{"a", "b", "c"}, ran)
	require.Equal(t, []string{"a: broke"}, r.Failures)
	require.Contains(t, out, "- etcd: 3\n")
	require.NotContains(t, out, "Quick")
	require.Equal(t, 3, run.Rounds)
	require.True(t, run.Wants("c") && run.WantsPart("a", "SET"))
	_, out = measure(Options{Rounds: 3, Quick: true}, "GET", "c")
	require.Equal(t, []string{"b", "c"}, ran)
	require.Contains(t, out, "Quick")
	require.Equal(t, 1, run.Rounds)
	require.True(t, run.WantsPart("b", "GET") && run.WantsPart("c", "anything"))
	require.False(t, run.Wants("b") || run.WantsPart("b", "SET"))
	s.Prepare = func(context.Context, Run) ([]string, error) { return nil, errors.New("not here") }
	_, err := s.Measure(t.Context(), Options{Binary: "x"}, nil, nil, io.Discard, io.Discard)
	require.EqualError(t, err, "not here")
}
