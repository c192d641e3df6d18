package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/stretchr/testify/require"
	_ "golang.org/x/sync/errgroup" // redsync's tests need it

	theirs "github.com/go-redsync/redsync/v4"

	oursredislock "lockserver/client/redislock"
	ours "lockserver/client/redsync"
	ourgoredis "lockserver/client/redsync/redis/goredis/v9"
)

// dropIns are the packages that others are replaced by, with the imports that a program changes.
var dropIns = []struct {
	theirs, ours string
	tests        []string // files of theirs
}{
	{"github.com/go-redsync/redsync/v4", "lockserver/client/redsync", []string{"error_test.go", "mutex_test.go"}},
	{"github.com/go-redsync/redsync/v4/redis", "lockserver/client/redsync/redis", nil},
	{"github.com/go-redsync/redsync/v4/redis/goredis/v9", "lockserver/client/redsync/redis/goredis/v9", nil},
	{"github.com/bsm/redislock", "lockserver/client/redislock", []string{"redislock_test.go", "retry_strategy_test.go"}},
}

// dirOf is the directory of a package.
func dirOf(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", "{{.Dir}}", path)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, "%s", errors.String())
	return strings.TrimSpace(string(out))
}

// TestTheirOwnTests: redsync's and redislock's own tests pass on the packages that replace them. Only
// imports and addresses differ, and times are longer where a busy machine would decide.
func TestTheirOwnTests(t *testing.T) {
	var addrs []string
	for range 8 {
		addrs = append(addrs, start(t).addr)
	}
	edit := func(file, text string) string {
		for _, d := range dropIns {
			text = strings.ReplaceAll(text, `"`+d.theirs+`"`, `"`+d.ours+`"`)
		}
		switch file {
		case "redislock_test.go":
			text = strings.ReplaceAll(text, "127.0.0.1:6379", addrs[0])
			return strings.ReplaceAll(text, "time.Millisecond", "100*time.Millisecond")
		case "mutex_test.go":
			return strings.ReplaceAll(text, "timeoutFactor: 0.05", "timeoutFactor: 0.5")
		}
		return text
	}
	for _, d := range dropIns {
		if d.tests == nil {
			continue
		}
		t.Run(filepath.Base(d.ours), func(t *testing.T) {
			dir, there, here := t.TempDir(), dirOf(t, d.theirs), dirOf(t, d.ours)
			replace := map[string]string{}
			for _, file := range d.tests {
				text, err := os.ReadFile(filepath.Join(there, file))
				require.NoError(t, err)
				edited := filepath.Join(dir, file)
				require.NoError(t, os.WriteFile(edited, []byte(edit(file, string(text))), 0o600))
				replace[filepath.Join(here, file)] = edited
			}
			if d.ours == "lockserver/client/redsync" {
				cases, err := filepath.Abs(filepath.Join("testdata", "redsync_cases_test.go"))
				require.NoError(t, err)
				replace[filepath.Join(here, "redsync_cases_test.go")] = cases
			}
			overlay, err := json.Marshal(map[string]any{"Replace": replace})
			require.NoError(t, err)
			list := filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(list, overlay, 0o600))
			cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-v", "-overlay", list, d.ours)
			cmd.Env = append(os.Environ(), "REDSYNC_SERVERS="+strings.Join(addrs, " "))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Greater(t, strings.Count(string(out), "--- PASS: "), 10, "%s", out)
		})
	}
}

// TestDropInsHaveTheSameNames: what the replaced packages export is there, with the same types.
func TestDropInsHaveTheSameNames(t *testing.T) {
	for _, d := range dropIns {
		has := exportedBy(t, dirOf(t, d.ours))
		var missing []string
		for name, kind := range exportedBy(t, dirOf(t, d.theirs)) {
			if has[name] != kind {
				missing = append(missing, fmt.Sprintf("%s: %s, ours: %q", name, kind, has[name]))
			}
		}
		sort.Strings(missing)
		require.Empty(t, missing, d.ours)
	}
}

// exportedBy returns the exported names of a package: functions and methods with their types, types,
// values, fields.
func exportedBy(t *testing.T, dir string) map[string]string {
	t.Helper()
	names := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if decl.Recv != nil {
					name = strings.TrimPrefix(typeText(decl.Recv.List[0].Type), "*") + "." + name
				}
				if exported(name) {
					names[name] = typeText(decl.Type)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					addSpec(names, spec)
				}
			}
		}
	}
	return names
}

// exported reports whether a name, and the type that it belongs to, is exported.
func exported(name string) bool {
	for _, part := range strings.Split(name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}

func addSpec(names map[string]string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				names[name.Name] = "value"
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		var members *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			names[spec.Name.Name], members = "struct", of.Fields
		case *ast.InterfaceType:
			names[spec.Name.Name], members = "interface", of.Methods
		default:
			names[spec.Name.Name] = typeText(of)
			return
		}
		for _, member := range members.List {
			for _, name := range member.Names {
				if name.IsExported() {
					names[spec.Name.Name+"."+name.Name] = typeText(member.Type)
				}
			}
			if len(member.Names) == 0 {
				names[spec.Name.Name+"."+typeText(member.Type)] = "embedded"
			}
		}
	}
}

// typeText is a type as text, without the names of parameters, and with one name for each package.
func typeText(of ast.Expr) string {
	if f, ok := of.(*ast.FuncType); ok {
		text := "func("
		for _, list := range []*ast.FieldList{f.Params, f.Results} {
			if list != nil {
				for _, field := range list.List {
					text += strings.Repeat(typeText(field.Type)+", ", max(1, len(field.Names)))
				}
			}
			text += ")"
		}
		return text
	}
	var b bytes.Buffer
	_ = printer.Fprint(&b, token.NewFileSet(), of)
	return strings.NewReplacer("interface{}", "any", "redsyncredis.", "redis.", "goredis.UniversalClient", "redis.UniversalClient").Replace(b.String())
}

// TestDropInsBesideTheOriginals: both forms keep each other out, so that a fleet is changed one program
// after the other. A waiter of ours gets a lock that a program with the original has released.
func TestDropInsBesideTheOriginals(t *testing.T) {
	s := start(t)
	rdb, ctx := s.connect(t), within(t)
	old, made := theirs.New(goredis.NewPool(rdb)), ours.New(ourgoredis.NewPool(rdb))
	var taken *ours.ErrTaken
	var theirTaken *theirs.ErrTaken

	m := old.NewMutex("door", theirs.WithExpiry(time.Hour))
	require.NoError(t, m.Lock())
	require.ErrorAs(t, made.NewMutex("door").TryLock(), &taken)
	had := make(chan error, 1)
	waiter := made.NewMutex("door", ours.WithTries(1_000_000), ours.WithRetryDelay(time.Millisecond), ours.WithExpiry(time.Hour))
	go func() { had <- waiter.LockContext(ctx) }()
	ok, err := m.Unlock()
	require.True(t, ok, "%v", err)
	require.NoError(t, <-had)
	require.ErrorAs(t, old.NewMutex("door").TryLock(), &theirTaken)
	ok, err = waiter.Unlock()
	require.True(t, ok, "%v", err)

	first, err := redislock.Obtain(ctx, rdb, "job", time.Hour, nil)
	require.NoError(t, err)
	_, err = oursredislock.Obtain(ctx, rdb, "job", time.Hour, nil)
	require.ErrorIs(t, err, oursredislock.ErrNotObtained)
	require.NoError(t, first.Release(ctx))
	second, err := oursredislock.Obtain(ctx, rdb, "job", time.Hour, nil)
	require.NoError(t, err)
	_, err = redislock.Obtain(ctx, rdb, "job", time.Hour, nil)
	require.Error(t, err)
	require.NoError(t, second.Release(ctx))
}
