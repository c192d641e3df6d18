package tracking

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
)

// newsFixture is News with clients that are numbers, and a record of what each was sent.
type newsFixture struct {
	News[int]
	trackers map[int]*Tracker[int]
	version  map[int]int
	gone     map[int]bool
	sent     []string
	sweeps   int
}

func newNews() *newsFixture {
	f := &newsFixture{trackers: map[int]*Tracker[int]{}, version: map[int]int{}, gone: map[int]bool{}}
	f.Open(Door[int]{
		ID:      func(c int) int64 { return int64(c) },
		Client:  func(id int64) (int, bool) { return int(id), !f.gone[int(id)] },
		Tracker: func(c int) *Tracker[int] { return f.trackers[c] },
		Version: func(c int) int { return max(2, f.version[c]) },
		Listens: func(c int) bool { return c == 9 },
		Deliver: func(to int, m []byte) {
			words := strings.Fields(strings.ReplaceAll(string(m), "\r\n", " "))
			f.sent = append(f.sent, string(rune('0'+to))+" "+words[len(words)-1])
		},
		Chance: func(int) int { return 0 }, Later: func() bool { return false }, SweepSoon: func() { f.sweeps++ },
		Commands: commands.NewTable(commands.Families()...),
	})
	return f
}

func (f *newsFixture) track(c int, o Options) {
	f.version[c] = 3
	f.trackers[c] = f.Start(c)
	f.trackers[c].Options = o
}

// run runs a command of a client that changes a key, or reads one.
func (f *newsFixture) run(t *testing.T, c int, words string) []string {
	t.Helper()
	f.sent = nil
	var argv [][]byte
	for _, word := range strings.Fields(words) {
		argv = append(argv, []byte(word))
	}
	row, err := f.door.Commands.Resolve(argv)
	require.NoError(t, err)
	changes := *row
	changes.Run = func(*commands.Ctx) error {
		if row.Flags.Has(commands.Write) {
			f.KeyChanged(argv[1])
		}
		return nil
	}
	require.NoError(t, f.Run(&commands.Ctx{Row: &changes, Argv: argv}, c))
	f.Broadcast()
	require.True(t, f.Quiet())
	return f.sent
}

// TestNews: the clients that hear of a change. A redirected message goes to the target if that listens.
func TestNews(t *testing.T) {
	f := newNews()
	f.track(1, Options{})
	f.track(2, Options{NoLoop: true})
	f.track(3, Options{BCast: true})
	f.Join(f.trackers[3], "k")
	f.track(4, Options{Redirect: 9})
	f.track(5, Options{Redirect: 8})
	for c := range 6 {
		require.Empty(t, f.run(t, c, "GET key"))
	}
	require.ElementsMatch(t, []string{"1 key", "9 key", "3 key"}, f.run(t, 2, "SET key v"), "8 listens to nothing")
	require.Equal(t, []string{"3 key"}, f.run(t, 1, "SET key v"), "one message for each read")
	require.Empty(t, f.run(t, 1, "SET other v"))

	f.gone[9] = true
	f.run(t, 4, "GET key")
	require.Equal(t, []string{"4 :9", "3 key"}, f.run(t, 1, "DEL key"))
	require.True(t, f.trackers[4].Broken)
	require.NoError(t, f.Check())
}

// TestNewsBound: keys above the bound are reported as if they had changed, some at a time.
func TestNewsBound(t *testing.T) {
	f := newNews()
	f.track(1, Options{})
	for _, key := range []string{"a", "b", "c"} {
		f.run(t, 1, "GET "+key)
	}
	f.Bound(2)
	require.Equal(t, 1, f.sweeps)
	f.sent = nil
	f.SweepSome()
	require.Equal(t, []string{"1 a"}, f.sent)
	require.Equal(t, 2, f.Keys())
	require.Equal(t, int64(-1), f.trackers[7].Redirection())
}
