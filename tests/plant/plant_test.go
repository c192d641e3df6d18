package plant

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// ownFaults are faults in package plant itself.
var ownFaults = []Fault{New("all is lost", Insert("plant-join", `spans, text = nil, ""`))}

func TestFaultIsSwitchedOn(t *testing.T) {
	program := Build(t, root, ownFaults)
	out, err := Command(program, None, "-test.run", "^TestApply$").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = Command(program, "all is lost", "-test.run", "^TestApply$").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "--- FAIL: TestApply")
}

const source = `package p

func f(a, b bool) (c bool) {
	// plant:first
	if a {
		c = b
	} else if b { // plant:second
		c = a
	}
	switch {
	// plant:third
	case a:
		return c
	}
	// plant:fourth
	d := a && b
	return d // plant:fifth
}

func g(a bool) bool { return a } // plant:sixth
`

func TestApply(t *testing.T) {
	m := &Marked{map[string]place{}, map[string]string{}}
	require.NoError(t, m.add("p.go", []byte(source)))
	require.Equal(t, []string{"fifth", "first", "fourth", "second", "sixth", "third"}, m.Names())
	apply := func(changes ...Change) string {
		files, err := Apply(m, []Fault{New("x", changes[:1]...), New("y", changes[1:]...)})
		require.NoError(t, err)
		require.Len(t, files, 1)
		return files["p.go"]
	}
	for _, c := range []struct {
		changes  []Change
		old, new string
	}{
		{[]Change{Omit("first")}, "\tif a {\n\t\tc = b\n\t} else if b { // plant:second\n\t\tc = a\n\t}",
			"\tif !planted(\"x\") {\nif a {\n\t\tc = b\n\t} else if b { // plant:second\n\t\tc = a\n\t}\n}"},
		{[]Change{And("second", "c")}, "if b {", `if ((!planted("x") || (c)) && (b)) {`},
		{[]Change{Instead("second", "c = true")}, "if b { // plant:second\n\t\tc = a\n\t}",
			"if planted(\"x\") {\nc = true\n} else {\nif b { // plant:second\n\t\tc = a\n\t}\n}"},
		{[]Change{Or("third", "true"), And("third", "b")}, "case a:", `case ((!planted("y") || (b)) && ((planted("x") && (true) || (a)))):`},
		{[]Change{Insert("fourth", "a = b"), Or("fourth", "c")}, "d := a && b",
			"if planted(\"x\") {\na = b\n}\nd := (planted(\"y\") && (c) || (a && b))"},
		{[]Change{Instead("fifth", "return a"), Or("fifth", "c")}, "return d",
			"if planted(\"x\") {\nreturn a\n} else {\nreturn (planted(\"y\") && (c) || (d))\n}"},
		{[]Change{Or("sixth", "true")}, "return a }", `return (planted("x") && (true) || (a)) }`},
	} {
		require.Contains(t, source, c.old)
		require.Equal(t, strings.Replace(source, c.old, c.new, 1), apply(c.changes...))
	}
	for _, c := range []Change{Omit("seventh"), Omit("third"), Insert("second", ""), Omit("fourth"), Instead("fourth", "")} {
		_, err := Apply(m, []Fault{New("x", c)})
		require.Error(t, err, "%v", c)
	}
	require.ErrorContains(t, m.add("q.go", []byte("package p\n\nfunc f() {\n\t// plant:sixth\n\tf()\n}\n")), "q.go:4:2: the marker sixth is in p.go, too")
	require.ErrorContains(t, m.add("q.go", []byte("package p\n\nfunc f() {\n\tf()\n\t// plant:last\n}\n")), "no statement begins at the marker last")
}

// TestMarkers checks all markers in the sources and all tables of faults, including files behind build tags.
// Each marker has a fault. Each fault names markers, fits the statements there, and the results can be
// parsed.
func TestMarkers(t *testing.T) {
	m, err := Find(root)
	require.NoError(t, err)
	used := map[string]bool{}
	tables := faultsOf(t, root)
	require.NotEmpty(t, tables)
	tables["this package"] = ownFaults
	for table, faults := range tables {
		files, err := Apply(m, faults)
		require.NoError(t, err, "%s", table)
		for file, text := range files {
			_, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			require.NoError(t, err, "with the faults of %s", table)
		}
		for _, f := range faults {
			for _, c := range f.Changes {
				used[c.marker] = true
			}
		}
	}
	for _, name := range m.Names() {
		require.True(t, used[name], "no fault hangs on the marker %s in %s", name, m.places[name].file)
	}
}

// faultsOf reads the tables of faults, by the file of the table.
func faultsOf(t *testing.T, root string) map[string][]Fault {
	t.Helper()
	tables := map[string][]Fault{}
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(b), "plant.New(") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, b, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && called(call) == "New" {
				f, err := readFault(call)
				require.NoError(t, err, "%s", name)
				tables[name] = append(tables[name], f)
			}
			return true
		})
		return nil
	}))
	return tables
}

// called returns the name of the function of package plant that an expression calls.
func called(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if p, ok := f.X.(*ast.Ident); !ok || p.Name != "plant" {
		return ""
	}
	return f.Sel.Name
}

// readFault evaluates a call of New.
func readFault(call *ast.CallExpr) (Fault, error) {
	name, err := literal(call.Args[0])
	f := New(name)
	for _, e := range call.Args[1:] {
		kinds := map[string]kind{"Insert": insert, "Omit": omit, "Instead": instead, "Or": or, "And": and}
		k, ok := kinds[called(e)]
		if !ok {
			return f, fmt.Errorf("%q has a change that is no call", name)
		}
		c := Change{kind: k}
		args := e.(*ast.CallExpr).Args
		texts := make([]string, 2)
		for i := range args {
			if texts[i], err = literal(args[i]); err != nil {
				return f, err
			}
		}
		c.marker, c.code = texts[0], texts[1]
		f.Changes = append(f.Changes, c)
	}
	return f, err
}

func literal(e ast.Expr) (string, error) {
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return "", fmt.Errorf("write a fault with literals only: %T", e)
	}
	return strconv.Unquote(l.Value)
}
