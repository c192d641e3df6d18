package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/commands"
	"lockserver/internal/resp"
	"lockserver/store"
	"lockserver/tests/tabletest"
)

// asker runs the commands of this package, without anything of a server.
type asker struct {
	t     *testing.T
	book  *Book
	table *commands.Table
	store *store.Store
	rand  *rand.Rand
}

func newAsker(t *testing.T) *asker {
	a := &asker{t: t, book: new(Book), store: store.New(1, store.Limits{}), rand: rand.New(rand.NewPCG(1, 1))}
	a.table = commands.NewTable(append(commands.Families(), Rows(func(*commands.Ctx) *Book { return a.book }))...)
	return a
}

// do runs a command and returns what is answered, as text.
func (a *asker) do(call string) string {
	a.t.Helper()
	return a.ask(call).String()
}

// ask runs a command.
func (a *asker) ask(call string) resp.Value {
	a.t.Helper()
	return tabletest.Reply(a.t, 3, func(argv [][]byte, out *resp.Writer) error {
		row, err := a.table.Resolve(argv)
		if err != nil {
			return err
		}
		return row.Run(&commands.Ctx{Argv: argv, Row: row, Table: a.table, Out: out, DB: a.store.DB(0), Rand: a.rand,
			Settings: &commands.Settings{MaxStringBytes: math.MaxInt64}})
	}, strings.Fields(call)...)
}

func TestSlowlogCommands(t *testing.T) {
	a := newAsker(t)
	a.book.Slow.Most = 2
	for _, name := range []string{"a", "b", "c"} {
		a.book.Slow.Add(SlowEntry{AtS: 100, Figure: 7, Args: [][]byte{[]byte("get"), []byte(name)}, Addr: "host:1", Name: "me"})
	}
	require.Equal(t, "2", a.do("SLOWLOG LEN"))
	b, c := `[1 100 7 ["get" "b"] "host:1" "me"]`, `[2 100 7 ["get" "c"] "host:1" "me"]`
	require.Equal(t, "["+c+" "+b+"]", a.do("SLOWLOG GET"))
	require.Equal(t, "["+c+"]", a.do("SLOWLOG GET 1"))
	require.Equal(t, "["+c+" "+b+"]", a.do("SLOWLOG GET -1"))
	require.Equal(t, "-"+string(commands.ErrSlowlogCount), a.do("SLOWLOG GET -2"))
	require.Equal(t, "+OK", a.do("SLOWLOG RESET"))
	require.Equal(t, "[]", a.do("SLOWLOG GET"))
}

// As Valkey 8.1 documents it: there are three logs, and SLOWLOG shows the first.
func TestCommandlogCommands(t *testing.T) {
	a := newAsker(t)
	entry := func(figure int64) SlowEntry {
		return SlowEntry{AtS: 100, Figure: figure, Args: [][]byte{[]byte("get"), []byte("k")}, Addr: "host:1", Name: "me"}
	}
	a.book.Slow.Most, a.book.Requests.Most, a.book.Replies.Most = 2, 2, 1
	a.book.Slow.Add(entry(7))
	a.book.Requests.Add(entry(2000))
	a.book.Requests.Add(entry(3000))
	a.book.Replies.Add(entry(4000))
	a.book.Replies.Add(entry(5000))
	slow := `[[0 100 7 ["get" "k"] "host:1" "me"]]`
	require.Equal(t, slow, a.do("COMMANDLOG GET -1 slow"))
	require.Equal(t, slow, a.do("SLOWLOG GET"))
	require.Equal(t, `[[1 100 3000 ["get" "k"] "host:1" "me"]]`, a.do("COMMANDLOG GET 1 large-request"))
	require.Equal(t, `[[1 100 5000 ["get" "k"] "host:1" "me"]]`, a.do("COMMANDLOG GET 10 LARGE-REPLY"))
	require.Equal(t, "1", a.do("COMMANDLOG LEN SLOW"))
	require.Equal(t, "2", a.do("COMMANDLOG LEN large-request"))
	require.Equal(t, "+OK", a.do("COMMANDLOG RESET large-request"))
	require.Equal(t, "0", a.do("COMMANDLOG LEN large-request"))
	require.Equal(t, "1", a.do("COMMANDLOG LEN large-reply"))
	require.Equal(t, "+OK", a.do("COMMANDLOG RESET slow"))
	require.Equal(t, "0", a.do("SLOWLOG LEN"))
	a.book.Requests.Add(entry(1))
	require.Equal(t, `[[2 100 1 ["get" "k"] "host:1" "me"]]`, a.do("COMMANDLOG GET -1 large-request"), "IDs go on")
	for _, call := range []string{"COMMANDLOG LEN fast", "COMMANDLOG RESET fast", "COMMANDLOG GET 1 fast"} {
		require.Equal(t, "-"+string(commands.ErrCommandlogType), a.do(call))
	}
	require.Equal(t, "-"+string(commands.ErrSlowlogCount), a.do("COMMANDLOG GET -2 slow"))
	require.Equal(t, "-"+string(commands.ErrSlowlogCount), a.do("COMMANDLOG GET x slow"))
}

func TestLatencyCommands(t *testing.T) {
	a := newAsker(t)
	a.book.Events.Add("command", 900, 50)
	require.Equal(t, "[]", a.do("LATENCY LATEST"), "they are not measured")
	require.Contains(t, a.do("LATENCY DOCTOR"), "Nothing is watched")
	a.book.Events.ThresholdMS = 10
	a.book.Events.Add("command", 900, 9)
	require.Contains(t, a.do("LATENCY DOCTOR"), "Nothing took 10 ms or more.")
	a.book.Events.Add("command", 900, 40)
	a.book.Events.Add("command", 940, 10)
	a.store.SetNow(960_000_000)
	require.Equal(t, `[["command" 940 10 40]]`, a.do("LATENCY LATEST"))
	require.Equal(t, "[[900 40] [940 10]]", a.do("LATENCY HISTORY command"))
	require.Equal(t, "[]", a.do("LATENCY HISTORY nosuch"))
	doctor := a.do("LATENCY DOCTOR")
	require.Contains(t, doctor, "command: 2 samples, one every 30 s; 25 ms on average, give or take 15 ms; the worst took 40 ms.")
	require.Contains(t, doctor, advice["command"])
	require.Equal(t, `="txt:command: highest 40 ms, lowest 10 ms, highest ever 40 ms\n# \n# \n# \n##\n12\nm0\n s\n"`, a.do("LATENCY GRAPH command"))
	require.Equal(t, "-"+commands.ErrLatencySamples([]byte("nosuch")).Error(), a.do("LATENCY GRAPH nosuch"))
	require.Equal(t, "1", a.do("LATENCY RESET command nosuch"))
	require.Equal(t, "[]", a.do("LATENCY LATEST"))
}

func TestLatencyHistograms(t *testing.T) {
	a := newAsker(t)
	a.book.Size = a.table.Size()
	a.book.Tracking = true
	took := func(name string, us int64) {
		of := a.book.Of(a.table.LookupFull([]byte(name)))
		of.Called()
		of.Took(time.Duration(us) * time.Microsecond)
	}
	require.Equal(t, "{}", a.do("LATENCY HISTOGRAM"))
	for _, us := range []int64{1, 3, 4, 1000, 3_000_000} {
		took("get", us)
	}
	took("slowlog|len", 2)
	get := `"get":{"calls":5 "histogram_usec":{1:1 4:3 1056:4 1073741:5}}`
	slowlog := `"slowlog|len":{"calls":1 "histogram_usec":{2:1}}`
	require.Equal(t, "{"+get+" "+slowlog+"}", a.do("LATENCY HISTOGRAM"))
	require.Equal(t, "{"+slowlog+"}", a.do("LATENCY HISTOGRAM slowlog nosuch set"))
	a.book.Tracking = false
	require.Equal(t, "{}", a.do("LATENCY HISTOGRAM"))
	a.book.Tracking = true
	a.book.ForgetCounts()
	require.Equal(t, "{}", a.do("LATENCY HISTOGRAM"))
}
