package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const module = "lockserver"

// maxLines is how long a file may be that has one subject; tests and their tables may be longer.
const maxLines = 800

// source is one Go file of the module.
type source struct {
	path string // from the root, with slashes
	pkg  string // import path of its folder
	test bool
	file *ast.File
	fset *token.FileSet
	text []byte
}

func (s *source) imports() []string {
	var list []string
	for _, spec := range s.file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err == nil {
			list = append(list, path)
		}
	}
	return list
}

// sources returns every Go file of the module.
func sources(t *testing.T) []*source {
	t.Helper()
	list, err := parsed()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

// parsed parses every Go file of the module, once.
var parsed = sync.OnceValues(func() (list []*source, err error) {
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		pkg := module
		if dir := filepath.ToSlash(filepath.Dir(rel)); dir != "." {
			pkg += "/" + dir
		}
		list = append(list, &source{rel, pkg, strings.HasSuffix(rel, "_test.go"), file, fset, text})
		return nil
	})
	return list, err
})

// layers says which of our packages a package may import, by the first element of their path. A package
// without a row may import any (tests, examples).
var layers = map[string][]string{
	"cmd":         {"admin", "server", "internal"},
	"admin":       {"server", "commands", "internal", "docs"}, // docs: the words of the runbook
	"client":      {},
	"docs":        {},
	"server":      {"commands", "persistence", "store", "internal"},
	"commands":    {"store", "internal"},
	"persistence": {"store", "internal"},
	"store":       {"store"},
	"internal":    {"internal"},
}

// leaves are the packages that every package may import, store, too.
var leaves = []string{module + "/internal/decimal"}

// generators are programs for the tree itself that may look at everything.
var generators = []string{module + "/internal/gendocs"}

func layer(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, module+"/")
	if !ok {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

func TestImportsGoDownwards(t *testing.T) {
	for _, s := range sources(t) {
		from := layer(s.pkg)
		allowed, ruled := layers[from]
		if !ruled || s.test || slices.Contains(generators, s.pkg) {
			continue
		}
		for _, path := range s.imports() {
			to := layer(path)
			if to == "" || slices.Contains(leaves, path) {
				continue
			}
			ok := slices.Contains(allowed, to) || to == from && from != "internal"
			require.Truef(t, ok, "%s imports %s: %s may import %v", s.path, path, from, allowed)
		}
	}
}

// parts are the packages inside server/, and the packages of ours that each may import: none may import what
// is above it.
var parts = map[string][]string{
	"server/acl":      {"commands", "internal/ascii", "internal/decimal", "internal/glob", "internal/resp", "server/info", "store"},
	"server/attach":   {"commands", "internal/ascii", "internal/resp"},
	"server/audit":    {"commands", "internal/ascii"},
	"server/clock":    {},
	"server/cluster":  {"internal/keyslot"},
	"server/shardmap": {"internal/call", "persistence", "server/cluster"},
	"server/groups": {"internal/call", "internal/config", "internal/keyslot", "server/cluster", "server/raft", "server/shardmap", "server/slotmove", "server/topology",
		"store"},
	"server/debug": {"commands", "internal/ascii", "internal/config", "internal/decimal", "internal/glob", "internal/resp", "persistence", "persistence/digest", "store",
		"store/list", "store/listpack"},
	"server/durability": {"commands", "internal/background", "internal/config", "internal/histogram", "internal/resp", "persistence", "persistence/aof",
		"persistence/digest", "persistence/disk", "server/clock", "server/gate", "server/info", "store"},
	"server/dump":      {"commands", "internal/ascii", "internal/decimal", "internal/keyevent", "internal/resp", "persistence", "persistence/rdb", "server/gate", "store"},
	"server/gate":      {},
	"server/info":      {"commands", "internal/ascii"},
	"server/memory":    {"commands", "internal/rusage", "server/info"},
	"server/migration": {"commands", "internal/background", "server/cluster", "server/durability", "server/raft", "server/slotdata", "server/slotmove", "server/topology", "store"},
	"server/monitor":   {"commands", "internal/resp"},
	"server/output":    {"internal/resp", "server/gate", "server/transport", "server/wait"},
	"server/pubsub":    {"commands", "internal/glob", "internal/resp"},
	"server/raft": {"commands", "internal/ascii", "internal/histogram", "internal/resp", "persistence", "persistence/aof", "persistence/digest", "server/cluster", "server/gate", "server/info",
		"server/replication", "server/slotdata", "server/slotmove", "store"},
	"server/raft/engine": {"internal/histogram", "persistence", "persistence/aof", "persistence/disk", "persistence/rdb", "server/raft",
		"server/raft/engine/raftlog"},
	"server/raft/engine/raftlog": {"persistence/disk"},
	"server/replication":         {"commands", "internal/ascii", "internal/config", "internal/decimal", "internal/resp", "persistence/aof", "persistence/disk", "server/info", "store"},
	"server/script":              {"commands", "internal/decimal", "internal/glob", "internal/lua", "internal/luavm", "internal/resp", "internal/rusage", "server/cluster"},
	"server/shard": {"commands", "internal/background", "internal/histogram", "internal/waiting", "persistence", "server/clock", "server/durability", "server/gate", "server/memory",
		"server/output", "server/raft", "server/replication", "server/stats", "server/transport", "server/wait", "store", "store/due"},
	"server/slotdata":   {"commands", "internal/keyslot", "internal/resp", "persistence", "persistence/digest", "server/cluster", "store"},
	"server/slotmove":   {"server/cluster"},
	"server/standalone": {"commands"},
	"server/stats":      {"commands", "internal/histogram", "server/info"},
	"server/testmode":   {"commands", "internal/ascii", "internal/config", "internal/glob", "server/clock", "server/topology"},
	"server/tlsconf":    {"internal/config"},
	"server/topology":   {"commands", "internal/decimal", "internal/keyslot", "internal/resp", "server/cluster", "server/info", "store"},
	"server/tracking":   {"commands", "internal/ascii", "internal/resp"},
	"server/transport":  {},
	"server/wait": {"commands", "internal/ascii", "internal/config", "internal/hotkeys", "internal/keyevent", "internal/lockclass", "internal/lockhistory", "internal/resp",
		"internal/tracecontext", "internal/waiting", "server/acl", "server/attach", "server/gate", "server/stats", "store", "store/due", "store/renewals"},
	"server/watching": {"store"},
}

func TestPartsDoNotKnowTheServer(t *testing.T) {
	for _, s := range sources(t) {
		rest, _ := strings.CutPrefix(s.pkg, module+"/")
		if !strings.HasPrefix(rest, "server/") || s.test {
			continue
		}
		allowed, listed := parts[rest]
		require.Truef(t, listed, "%s is not among the parts", rest)
		for _, path := range s.imports() {
			if ours, ok := strings.CutPrefix(path, module+"/"); ok {
				require.Containsf(t, allowed, ours, "%s: %s may not know %s", s.path, rest, ours)
			}
		}
	}
}

// TestClientNeedsGoRedisOnly: a program that imports the client gets go-redis, what that needs, and nothing
// of the server or of our tests.
func TestClientNeedsGoRedisOnly(t *testing.T) {
	const goRedis = "github.com/redis/go-redis/v9"
	for _, s := range sources(t) {
		if layer(s.pkg) != "client" || slices.Contains(modules(), strings.TrimPrefix(s.pkg, module+"/")) && s.pkg != module+"/client" {
			continue
		}
		for _, path := range s.imports() {
			foreign := strings.Contains(strings.Split(path, "/")[0], ".") || ours(path)
			require.Falsef(t, foreign && path != goRedis && layer(path) != "client", "%s imports %s", s.path, path)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "client", "go.mod"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(words) == 2 && strings.HasPrefix(words[1], "v") {
			require.Equal(t, goRedis, words[0], "client/go.mod requires more")
		}
	}
}

func TestStoreNeedsOnlyBtree(t *testing.T) {
	for _, s := range sources(t) {
		if layer(s.pkg) != "store" || s.test {
			continue
		}
		for _, path := range s.imports() {
			external := strings.Contains(strings.Split(path, "/")[0], ".") && !ours(path)
			require.Falsef(t, external && path != "github.com/tidwall/btree", "%s imports %s", s.path, path)
		}
	}
}

// TestNoClockNoChanceNoNetwork: what decides data gets time and chance handed in,
// so that a test can own them.
func TestNoClockNoChanceNoNetwork(t *testing.T) {
	forbidden := []string{"net", "os", "math/rand", "math/rand/v2", "crypto/rand", "os/exec", "net/http", "sync", "io/fs"}
	for _, s := range sources(t) {
		if l := layer(s.pkg); s.test || l != "commands" && l != "store" {
			continue
		}
		for _, path := range s.imports() {
			require.NotContainsf(t, forbidden, path, "%s imports %s", s.path, path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				require.Failf(t, "go statement", "%s", s.fset.Position(g.Pos()))
			}
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
					require.NotContainsf(t, []string{"Now", "Since", "Until", "Sleep", "After", "NewTimer"}, sel.Sel.Name,
						"%s", s.fset.Position(sel.Pos()))
				}
			}
			return true
		})
	}
}

// TestNothingStopsTheWorld: runtime.ReadMemStats does, and what asks in a server holds the executor;
// runtime/metrics has the same figures.
func TestNothingStopsTheWorld(t *testing.T) {
	for _, s := range sources(t) {
		if _, ruled := layers[layer(s.pkg)]; !ruled || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "ReadMemStats" {
				require.NotEqualf(t, "ReadMemStats", sel.Sel.Name, "%s", s.fset.Position(sel.Pos()))
			}
			return true
		})
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		lines := strings.Count(string(s.text), "\n")
		require.LessOrEqualf(t, lines, maxLines, "%s has %d lines", s.path, lines)
	}
}

// TestFunctionsFitAScreen: a longer one does several things, and each should have a name. Tests may be
// longer. The loop over the instructions of Lua is one function, since a call costs more than most of them.
// Examples of a package are read in a browser, with what they print.
func TestFunctionsFitAScreen(t *testing.T) {
	const screen, page = 70, 40 // lines
	examples := 0
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			most := screen
			if ok && s.pkg == "lockserver/internal/lua" && f.Name.Name == "execute" {
				most = maxLines
			}
			if ok && s.test {
				ok, most = strings.HasPrefix(f.Name.Name, "Example") && layer(s.pkg) != "tests", page
			}
			if ok {
				if s.test {
					examples++
				}
				lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
				require.LessOrEqualf(t, lines, most, "%s has %d lines", s.fset.Position(f.Pos()), lines)
			}
		}
	}
	require.Positive(t, examples)
}

// TestCommentsAreNarrow: a line with a comment and without code fits beside another file. A preformatted
// line (indented by a tab) may be wider, as in a table.
func TestCommentsAreNarrow(t *testing.T) {
	const columns = 110 // a tab is 4
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, comment := range group.List {
				at := s.fset.Position(comment.Pos())
				line, _, _ := strings.Cut(string(s.text[at.Offset-at.Column+1:]), "\n")
				text, bare := strings.CutPrefix(strings.TrimSpace(line), "//")
				if !bare || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "go:") {
					continue
				}
				width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
				if width > columns { // a comparison by require costs more than all of this
					require.LessOrEqualf(t, width, columns, "%s", at)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	documented := make(map[string]bool)
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
	}
	for pkg, ok := range documented {
		require.Truef(t, ok, "package %s has no comment", pkg)
	}
}

// TestNothingRegistersItself: no init functions, so that what a program does follows from what main calls.
func TestNothingRegistersItself(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				require.NotEqualf(t, "init", f.Name.Name, "%s", s.path)
			}
		}
	}
}

// TestNoSkippedTests: what cannot run must fail, or stand behind a build tag and a make target.
func TestNoSkippedTests(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test || s.pkg == module+"/internal/tidy" {
			continue
		}
		for _, word := range []string{"t.Skip(", "t.Skipf(", "t.SkipNow(", "b.Skip("} {
			require.Falsef(t, strings.Contains(string(s.text), word), "%s has %s", s.path, word)
		}
	}
}
