package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inServer reports whether a file belongs to package server itself, without the packages inside of it.
func inServer(s *source) bool { return path.Dir(s.path) == "server" && !s.test }

// TestServerHasItsBounds: package server is what other packages were taken out of. It has no more files, and
// its two central types no more fields and methods, than these numbers. A new part of the server belongs into
// a package inside of server/, with an interface for what it needs.
func TestServerHasItsBounds(t *testing.T) {
	files := 0
	fields, methods := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if !inServer(s) {
			continue
		}
		files++
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					methods[receiverOf(d)]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if of, ok := spec.(*ast.TypeSpec); ok {
						if structure, ok := of.Type.(*ast.StructType); ok {
							fields[of.Name.Name] = structure.Fields.NumFields()
						}
					}
				}
			}
		}
	}
	for what, bound := range map[string]struct{ is, most int }{
		"files":                 {files, 57},
		"fields of executor":    {fields["executor"], 77},
		"methods of executor":   {methods["executor"], 210},
		"fields of session":     {fields["session"], 70},
		"methods of session":    {methods["session"], 104},
		"methods of Services":   {interfaceSize(t, "commands", "Services"), 22},
		"methods of NodeServer": {interfaceSize(t, "server/replication", "NodeServer"), 25},
	} {
		require.Positive(t, bound.is, what)
		require.LessOrEqual(t, bound.is, bound.most, what)
		t.Logf("%d %s, at most %d", bound.is, what, bound.most)
	}
}

// receiverOf returns the name of the type that a method belongs to.
func receiverOf(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return ""
	}
	return name.Name
}

// interfaceSize returns the number of methods of an interface of a package.
func interfaceSize(t *testing.T, dir, name string) (n int) {
	t.Helper()
	for _, s := range sources(t) {
		if path.Dir(s.path) == dir && !s.test {
			ast.Inspect(s.file, func(node ast.Node) bool {
				if of, ok := node.(*ast.TypeSpec); ok && of.Name.Name == name {
					if methods, ok := of.Type.(*ast.InterfaceType); ok {
						n = methods.Methods.NumFields()
					}
				}
				return true
			})
		}
	}
	return n
}

// TestInterfacesSayWhich: what a package inside of server/, or package commands, needs of the server is an
// interface that says for what. None of them is a Host, as once twelve were, nor is a type a machine.
func TestInterfacesSayWhich(t *testing.T) {
	types := 0
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.path, "server/") && !strings.HasPrefix(s.path, "commands/") {
			continue
		}
		ast.Inspect(s.file, func(node ast.Node) bool {
			if of, ok := node.(*ast.TypeSpec); ok {
				require.NotContains(t, []string{"Host", "machine", "grant"}, of.Name.Name, s.path)
				types++
			}
			return true
		})
	}
	require.Greater(t, types, 500)
}

// serverOrder has the files of package server, the lowest first. A file may use what lower ones declare. What
// it uses of higher ones is an arrow that runs back up.
const serverOrder = `
limits.go options.go session.go story.go watchdog_shares.go watchdog.go executor.go users.go
pulse.go memory.go panic.go expiry.go observer.go flow.go parked.go publish.go group.go
transaction_cmd.go admit.go spans.go send.go wait_cmd.go shutdown_cmd.go dispatch.go batch.go
tracking_host.go lock_deadlocks_cmd.go queued.go lock_history_cmd.go config_cmd.go debug_host.go
lock_queue_cmd.go lock_info_cmd.go sem_info_cmd.go replication_host.go raft_host.go host.go
queued_push.go departure.go attachments.go role.go dump_host.go feed.go client_list_cmd.go
connection_cmd.go client_cmd.go replay.go durability_host.go script_host.go info_cmd.go client.go
transport_host.go testmode.go table.go ticker.go instance.go server.go`

// mostBackArrows bounds the arrows that run back up. It goes down, not up: a subject that knows the executor,
// and that the executor knows, is one. docs/decisions/0018 says how that is counted.
const mostBackArrows = 54

// TestServerHasFewBackArrows counts from which file of package server to which other one an identifier leads.
// Imports are not followed, so what comes through a type of another package is not seen.
func TestServerHasFewBackArrows(t *testing.T) {
	place := map[string]int{}
	for i, name := range strings.Fields(serverOrder) {
		place[name] = i
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, s := range sources(t) {
		if inServer(s) {
			require.Contains(t, place, path.Base(s.path), "the new file needs a place in serverOrder")
			f, err := parser.ParseFile(fset, path.Join("../..", s.path), nil, 0)
			require.NoError(t, err)
			files = append(files, f)
		}
	}
	require.Len(t, files, len(place), "serverOrder names a file that has gone")
	uses := map[*ast.Ident]types.Object{}
	check := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := check.Check("server", fset, files, &types.Info{Uses: uses}) // the errors are about imports
	name := func(at token.Pos) string { return path.Base(fset.Position(at).Filename) }
	arrows := map[[2]string]string{}
	for id, of := range uses {
		if _, imported := of.(*types.PkgName); imported || of.Pkg() != pkg || !of.Pos().IsValid() || name(id.Pos()) == name(of.Pos()) {
			continue
		}
		arrows[[2]string{name(id.Pos()), name(of.Pos())}] = of.Name()
	}
	require.Greater(t, len(arrows), 300, "the uses were not found")
	var back []string
	for a, what := range arrows {
		if place[a[1]] > place[a[0]] {
			back = append(back, a[0]+" -> "+a[1]+" ("+what+")")
		}
	}
	slices.Sort(back)
	t.Logf("%d of %d arrows run back up", len(back), len(arrows))
	require.LessOrEqual(t, len(back), mostBackArrows, strings.Join(back, "\n"))
}
