package tidy

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readyTexts are the tests, beside those of testkit, that may contain the ready line of a server.
var readyTexts = map[string]string{
	"cmd/lockserver/background_test.go":    "it checks what systemd is sent",
	"cmd/lockserver/parent_test.go":        "it checks which stream the line is written to",
	"cmd/lockserver/redis_harness_test.go": "it waits as the harness of Redis' own suite does",
	"tests/comparison/program_test.go":     "its etcd is a child of the test binary",
	"tests/console/world_test.go":          "a module that does not import the root",
}

// starters are the tests that may start a program by os/exec that runs beside the test. None but those of
// modules without testkit start a server.
var starters = map[string]string{
	"examples/locks/client_sql_test.go":     "workers, which are this test, to be killed",
	"client/main_test.go":                   "a server for the examples, in a module that does not import the root",
	"examples/flashsale/worker_test.go":     "the example itself, in a process that is killed",
	"examples/reminders/reminders_test.go":  "the example itself, in a process that is killed",
	"packaging/check/root_test.go":          "servers in a root of their own, in a module that does not import the root",
	"packaging/check/systemd_linux_test.go": "systemd",
	"tests/clients/go/fleet_test.go":        "the program fleet, which answers line by line",
	"tests/comparison/program_test.go":      "programs with a library each, whose lines are read with their times",
	"tests/console/world_test.go":           "a server in a module that does not import the root",
	"tests/moves/programs_test.go":          "clients in other languages, which answer line by line",
	"tests/readme/redis_cli_oracle_test.go": "redis-cli as a terminal",
	"tests/vanish/programs_test.go":         "clients in other languages, which answer line by line",
}

// TestServersAreStartedByTestkit: testkit.Process is the only way in which tests start a server and wait
// until it is ready.
func TestServersAreStartedByTestkit(t *testing.T) {
	texts, starts := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		ruled := s.test || strings.HasPrefix(s.path, "tests/fleet/")
		if !ruled || s.pkg == module+"/internal/tidy" || s.pkg == module+"/tests/testkit" {
			continue
		}
		if waitsForReady(s.file) {
			texts[s.path] = true
		}
		if startsProgram(s.file) {
			starts[s.path] = true
		}
	}
	same := func(want map[string]string, got map[string]bool, what string) {
		t.Helper()
		names := slices.Sorted(maps.Keys(got))
		require.Equal(t, slices.Sorted(maps.Keys(want)), names, "use testkit.Process; the only tests that %s are listed here", what)
	}
	same(readyTexts, texts, "contain the ready line")
	same(starters, starts, "start a program by os/exec")
}

func waitsForReady(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			found = found || strings.Contains(text.Value, "Ready to accept")
		}
		return !found
	})
	return found
}

// startsProgram reports whether a file calls Start of something that it calls an *exec.Cmd: a variable, a
// parameter or a field. A struct must not embed one: its Start would not be seen.
func startsProgram(file *ast.File) (found bool) {
	commands := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			found = found || slices.ContainsFunc(n.Fields.List, func(f *ast.Field) bool { return isCommand(f) && len(f.Names) == 0 })
		case *ast.Field:
			if isCommand(n) {
				for _, name := range n.Names {
					commands[name.Name] = true
				}
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if call, ok := value.(*ast.CallExpr); ok && strings.HasPrefix(types.ExprString(call.Fun), "exec.Command") {
					commands[lastName(n.Lhs[i])] = true
				}
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Start" && len(call.Args) == 0 {
				found = found || commands[lastName(f.X)]
			}
		}
		return !found
	})
	return found
}

func isCommand(f *ast.Field) bool { return types.ExprString(f.Type) == "*exec.Cmd" }

// lastName is x of x, and of a.b.x.
func lastName(e ast.Expr) string {
	text := types.ExprString(e)
	return text[strings.LastIndexByte(text, '.')+1:]
}

// TestStartsAreSeen holds what the check above finds. TestProgramsAreRemoved: a package with tests that
// build the program has a TestMain that removes it. Without it the tests fail, which would be seen only when
// their suite runs.
func TestProgramsAreRemoved(t *testing.T) {
	builds, main := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !s.test || s.pkg == module+"/internal/tidy" || s.pkg == module+"/tests/testkit" {
			continue
		}
		if bytes.Contains(s.text, []byte("testkit.Lockserver(")) || bytes.Contains(s.text, []byte("testkit.StartLockserver(")) {
			builds[s.pkg] = true
		}
		if bytes.Contains(s.text, []byte("testkit.Main(")) {
			main[s.pkg] = true
		}
	}
	require.NotEmpty(t, builds)
	for pkg := range builds {
		require.True(t, main[pkg], "the tests of %s call testkit.Lockserver; their TestMain has to call testkit.Main", pkg)
	}
}

func TestStartsAreSeen(t *testing.T) {
	for text, want := range map[string]bool{
		`func f() { cmd := exec.Command("x"); _ = cmd.Start() }`:             true,
		`func f() { a, b := exec.CommandContext(c, "x"), 1; _ = a.Start() }`: true,
		`func f(s *server) { s.cmd = exec.Command("x"); _ = s.cmd.Start() }`: true,
		`func f(cmd *exec.Cmd) error { return cmd.Start() }`:                 true,
		`type s struct { *exec.Cmd }`:                                        true,
		`func f() { cmd := exec.Command("x"); _ = cmd.Run() }`:               false,
		`func f(p *testkit.Process) error { return p.Start() }`:              false,
	} {
		require.Equal(t, want, startsProgram(parse(t, text)), text)
	}
	require.True(t, waitsForReady(parse(t, "const text = `* Ready to accept connections`")))
	require.False(t, waitsForReady(parse(t, `const text = "accept"`)))
}

func parse(t *testing.T, text string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, 0)
	require.NoError(t, err)
	return file
}

// TestEveryFuzzTargetHasACorpus: go test runs the inputs in testdata/fuzz as cases, and the fuzzer starts
// with them. They are few and small.
func TestEveryFuzzTargetHasACorpus(t *testing.T) {
	const fewest, most, mostBytes = 3, 20, 1 << 20
	targets, bytes := map[string]bool{}, 0
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !s.test || !strings.HasPrefix(f.Name.Name, "Fuzz") || f.Recv != nil {
				continue
			}
			dir := filepath.Join(filepath.Dir(s.path), "testdata", "fuzz", f.Name.Name)
			targets[dir] = true
			inputs, err := filepath.Glob(filepath.Join(root, dir, "*"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, len(inputs), fewest, "%s: commit some inputs, from f.Add and from what a short run finds", dir)
			require.LessOrEqual(t, len(inputs), most, dir)
			for _, input := range inputs {
				text, err := os.ReadFile(input)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(string(text), "go test fuzz v1\n"), input)
				bytes += len(text)
			}
		}
	}
	require.Greater(t, len(targets), 30)
	require.Less(t, bytes, mostBytes)
	require.Equal(t, targets, corpora(t), "each corpus belongs to a target")
}

// corpora are the directories of inputs that there are.
func corpora(t *testing.T) map[string]bool {
	t.Helper()
	dirs := map[string]bool{}
	for _, s := range sources(t) {
		found, err := filepath.Glob(filepath.Join(root, filepath.Dir(s.path), "testdata", "fuzz", "*"))
		require.NoError(t, err)
		for _, dir := range found {
			rel, err := filepath.Rel(root, dir)
			require.NoError(t, err)
			dirs[rel] = true
		}
	}
	return dirs
}
