package tidy

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLocksAndSalesAreSeparate: the locks and the sales of package commands could each be a package of their
// own (decision 0013). The rest of the package uses little more than their tables. They do not know each
// other, and they use only what the rest exports. The exceptions are listed here.
func TestLocksAndSalesAreSeparate(t *testing.T) {
	const lock, sale, rest = "lock", "sale", "rest"
	// What sales share with strings and streams, and the scratch of Ctx that is theirs. And how a wait with
	// NOTIFY for a limiter goes on, which is a WaitingLock.
	exceptions := []string{"findString", "streamToWrite", "nextStreamID", "names", "tryTake", "refuseTake", "tryManyTake", "refuseManyTake"}
	// In addition to the tables: what scripts of Redisson's read-write lock read of a hash and a deadline
	// (D143); and the state of a waiter for a lock, which Wait holds by value, so that a waiter needs no
	// separate allocation.
	doors := []string{"LockRows", "SemaphoreRows", "LatchRows", "SaleRows", "lockMode", "adoptReader", "standInEndMS", "modeField", "WaitingLock", "waitingUnits", "CheckOwner"}
	part := func(file string) string {
		switch name := path.Base(file); {
		case strings.HasPrefix(name, "lock"):
			return lock
		case strings.HasPrefix(name, "sale"), name == "next_id.go":
			return sale
		}
		return rest
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, s := range sources(t) {
		if s.pkg == module+"/commands" && !s.test {
			fset = s.fset
			files = append(files, s.file)
		}
	}
	require.NotEmpty(t, files)
	uses := usesWithin(fset, files)
	seen := map[string]int{}
	for id, object := range uses {
		user, owner := part(fset.Position(id.Pos()).Filename), part(fset.Position(object.Pos()).Filename)
		if user == owner {
			continue
		}
		seen[user]++
		at := fset.Position(id.Pos())
		if owner == rest {
			require.True(t, object.Exported() || slices.Contains(exceptions, id.Name), "%s: %s is not exported", at, id.Name)
		} else {
			require.Contains(t, doors, id.Name, "%s: the door of %ss is narrower", at, owner)
			require.Equal(t, rest, user, "%s", at)
		}
	}
	require.Equal(t, len(doors), seen[rest])
	require.Greater(t, min(seen[lock], seen[sale]), 100)
}

// usesWithin finds the uses of a package's own names in its files: functions, types, methods, fields and
// the like. It ignores imported names.
func usesWithin(fset *token.FileSet, files []*ast.File) map[*ast.Ident]types.Object {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := check.Check("commands", fset, files, &info)
	for id, object := range info.Uses {
		field, isField := object.(*types.Var)
		method, isMethod := object.(*types.Func)
		inside := object.Parent() == pkg.Scope() || isField && field.IsField() || isMethod && method.Signature().Recv() != nil
		if object.Pkg() != pkg || !inside {
			delete(info.Uses, id)
		}
	}
	return info.Uses
}

// noImports is an importer for a check that does without.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not looked at") }

// TestServerHasNoFalseFriends: in package server nearly all that is done to an executor or a session is a
// method. A function does not have the name of a method or a field: one meaning a word. So the handler of a
// command without a container ends in Cmd.
func TestServerHasNoFalseFriends(t *testing.T) {
	functions, members := map[string]token.Position{}, map[string]token.Position{}
	for _, s := range sources(t) {
		if s.pkg != module+"/server" || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if at := s.fset.Position(n.Pos()); n.Recv != nil {
					members[n.Name.Name] = at
				} else {
					functions[n.Name.Name] = at
				}
			case *ast.StructType:
				for _, field := range n.Fields.List {
					for _, name := range field.Names {
						members[name.Name] = s.fset.Position(name.Pos())
					}
				}
			}
			return true
		})
	}
	require.Greater(t, min(len(functions), len(members)), 100)
	for name, at := range functions {
		other, both := members[name]
		require.False(t, both, "%s: %s is something else in %s", at, name, other)
	}
}
