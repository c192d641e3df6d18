package tidy

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inServer reports whether a file belongs to package server itself, without the packages inside of it.
func inServer(s *source) bool { return path.Dir(s.path) == "server" && !s.test }

// TestServerHasItsBounds: package server and its two central types may not grow above these numbers. A new
// part of the server belongs into a package inside of server/, with an interface for the parts of the
// server that it uses.
func TestServerHasItsBounds(t *testing.T) {
	files := 0
	fields, methods := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if inServer(s) {
			files++
		} else if path.Dir(s.path) != "server/wait" || s.test {
			continue
		}
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
		"files":                     {files, 42},
		"fields of executor":        {fields["executor"], 62},
		"methods of executor":       {methods["executor"], 128},
		"fields of session":         {fields["session"], 54},
		"methods of session":        {methods["session"], 106},
		"fields of Waits":           {fields["Waits"], 19},
		"methods of Waits":          {methods["Waits"], 80},
		"fields of Party":           {fields["Party"], 20},
		"methods of Shard":          {interfaceSize(t, "server/wait", "Shard"), 8},
		"methods of Connection":     {interfaceSize(t, "server/wait", "Connection"), 11},
		"methods of ShardServices":  {interfaceSize(t, "commands", "ShardServices"), 14},
		"methods of ServerServices": {interfaceSize(t, "commands", "ServerServices"), 8},
		"methods of wait.Server":    {interfaceSize(t, "server/wait", "Server"), 12},
		"methods of shard.Server":   {interfaceSize(t, "server/shard", "Server"), 9},
		"methods of NodeServer":     {interfaceSize(t, "server/replication", "NodeServer"), 26},
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
