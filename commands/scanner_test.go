package commands

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// scannerOver returns a scanner over the arguments of a command that declares NX, XX, EX and PX.
func scannerOver(args ...string) *Scanner {
	row := plain("thing", Key("key", RO), Opt(OneOf("condition", Flag("NX"), Flag("XX"))),
		Opt(OneOf("ttl", Int("seconds").After("EX"), Int("milliseconds").After("PX"))))
	table := NewTable([]Row{row})
	s := NewScanner(table.Rows()[0], words(append([]string{"thing"}, args...)...))
	return &s
}

func TestScannerReads(t *testing.T) {
	s := scannerOver("k", "-5", "1.5", "7", "x", "y", "z", "a", "b")
	require.Equal(t, 9, s.Left())
	require.Equal(t, "k", string(s.Peek()))
	require.Equal(t, "k", string(s.Key()))
	require.Equal(t, int64(-5), s.Int())
	require.Equal(t, 1.5, s.Float())
	require.Equal(t, int64(7), s.Uint())
	require.Equal(t, "x", s.String())
	require.Equal(t, words("y", "z"), s.Take(2))
	require.True(t, s.More())
	require.Equal(t, words("a", "b"), s.Rest())
	require.False(t, s.More())
	require.Nil(t, s.Peek())
	require.Empty(t, s.Rest())
	require.NoError(t, s.Err())
}

func TestScannerStartsBehindTheSubcommand(t *testing.T) {
	container := plain("client")
	container.Run, container.Sub = nil, []Row{plain("kill", Str("id"))}
	table := NewTable([]Row{container})
	argv := words("CLIENT", "kill", "7")
	row, err := table.Resolve(argv)
	require.NoError(t, err)
	c := &Ctx{Argv: argv, Row: row, Table: table}
	require.Equal(t, "7", c.Args().String())
	require.Equal(t, "7", c.Args().String(), "each Args starts over")
}

func TestScannerErrors(t *testing.T) {
	cases := map[string]struct {
		args []string
		read func(s *Scanner)
		want error
	}{
		"nothing left":       {nil, func(s *Scanner) { s.Bytes() }, ErrSyntax},
		"no integer":         {[]string{"1x"}, func(s *Scanner) { s.Int() }, ErrNotInteger},
		"spaces":             {[]string{" 1"}, func(s *Scanner) { s.Int() }, ErrNotInteger},
		"overflow":           {[]string{"9223372036854775808"}, func(s *Scanner) { s.Int() }, ErrNotInteger},
		"own text":           {[]string{"x"}, func(s *Scanner) { s.IntOr(ErrTimeout) }, ErrTimeout},
		"integer missing":    {nil, func(s *Scanner) { s.IntOr(ErrTimeout) }, ErrSyntax},
		"below the range":    {[]string{"-1"}, func(s *Scanner) { s.IntRange(0, 5) }, ErrIntRange(0, 5)},
		"above the range":    {[]string{"6"}, func(s *Scanner) { s.IntRange(0, 5) }, ErrIntRange(0, 5)},
		"negative":           {[]string{"-1"}, func(s *Scanner) { s.Uint() }, ErrNotPositive},
		"not positive":       {[]string{"x"}, func(s *Scanner) { s.Uint() }, ErrNotPositive},
		"no float":           {[]string{"nan"}, func(s *Scanner) { s.Float() }, ErrNotFloat},
		"float missing":      {nil, func(s *Scanner) { s.Float() }, ErrSyntax},
		"unknown option":     {[]string{"KX"}, func(s *Scanner) { s.Option() }, ErrSyntax},
		"option missing":     {nil, func(s *Scanner) { s.Option() }, ErrSyntax},
		"fewer than taken":   {[]string{"a"}, func(s *Scanner) { s.Take(2) }, ErrSyntax},
		"taken back":         {[]string{"a"}, func(s *Scanner) { s.Take(-1) }, ErrSyntax},
		"own arity":          {[]string{"a"}, func(s *Scanner) { s.Arity() }, ErrArity("thing")},
		"two of one dst":     {nil, func(s *Scanner) { d := "NX"; Choose(s, &d, "XX") }, ErrSyntax},
		"the same one again": {nil, func(s *Scanner) { d := "NX"; Choose(s, &d, "NX") }, nil},
		"first one stays":    {[]string{"x"}, func(s *Scanner) { s.Int(); s.Syntax() }, ErrNotInteger},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := scannerOver(c.args...)
			c.read(s)
			require.Equal(t, c.want, s.Err())
		})
	}
}

// TestScannerLatches: after an error nothing is read any more. So no loop over More can hang, and no value
// can be mistaken.
func TestScannerLatches(t *testing.T) {
	s := scannerOver("NX", "1", "2", "3")
	first := errors.New("first")
	s.Fail(first)
	s.Fail(errors.New("second"))
	s.Arity()
	require.False(t, s.More())
	require.Zero(t, s.Left())
	require.Nil(t, s.Bytes())
	require.Nil(t, s.Peek())
	require.Nil(t, s.Rest())
	require.Nil(t, s.Take(1))
	require.Empty(t, s.Option())
	require.Empty(t, s.MaybeOption())
	require.False(t, s.IsNext("NX"))
	require.Zero(t, s.Int())
	require.Zero(t, s.Uint())
	require.Zero(t, s.IntRange(math.MinInt64, math.MaxInt64))
	require.Zero(t, s.Float())
	require.Empty(t, s.String())
	require.Equal(t, first, s.Err())
}

func TestScannerOptions(t *testing.T) {
	s := scannerOver("nX", "eX", "10", "foo", "PX", "NXX")
	require.Equal(t, "NX", s.Option())
	require.False(t, s.IsNext("PX"))
	require.True(t, s.IsNext("ex"))
	require.Equal(t, int64(10), s.Int())
	require.Empty(t, s.MaybeOption(), "foo is none, and stays")
	require.Equal(t, "foo", s.String())
	require.Equal(t, "PX", s.MaybeOption())
	require.Empty(t, s.MaybeOption(), "longer than a word")
	require.NoError(t, s.Err())
	require.Equal(t, []string{"NX", "XX", "EX", "PX"}, s.row.Words())
}

func TestScannerAllocatesNothing(t *testing.T) {
	table := NewTable([]Row{plain("thing", Key("key", RO), Opt(Int("seconds").After("EX")), Opt(Flag("NX")))})
	argv := words("thing", "k", "ex", "10", "nx", "bad")
	c := &Ctx{Argv: argv, Row: table.Rows()[0], Table: table}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		a := c.Args()
		a.Key()
		var cond string
		for a.More() {
			switch w := a.Option(); w {
			case "EX":
				a.Int()
			case "NX":
				Choose(a, &cond, w)
			}
		}
		if a.Err() != ErrSyntax {
			t.Fatal(a.Err())
		}
	}))
}

func BenchmarkScanner(b *testing.B) {
	table := redisTable(b)
	argv := words("set", "key", "value", "px", "1000", "nx")
	c := &Ctx{Argv: argv, Row: table.Lookup(argv[0]), Table: table}
	for b.Loop() {
		a := c.Args()
		a.Key()
		a.Bytes()
		for a.More() {
			if a.Option() == "PX" {
				a.Int()
			}
		}
		if a.Err() != nil {
			b.Fatal(a.Err())
		}
	}
}
