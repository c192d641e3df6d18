package tidy

import (
	"go/ast"
	"go/build"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostFields bounds the fields of a struct, and mostMethods the methods of a type.
const (
	mostFields  = 40
	mostMethods = 80
)

// typeSize is the number of fields and methods of a type.
type typeSize struct{ fields, methods int }

// largerTypes has bounds of their own for some types; 0: the common bound. The numbers go down, not up.
var largerTypes = map[string]typeSize{
	"internal/config.Config": {fields: 129}, // a plain record of the directives
}

// TestSizesOfTypes counts the fields and methods of each type. An embedded struct counts as one field, and
// its methods count for its own type.
func TestSizesOfTypes(t *testing.T) {
	sizes := sizesOf(t)
	require.Greater(t, len(sizes), 500)
	for name := range largerTypes {
		require.Contains(t, sizes, name)
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		has, larger := sizes[name], largerTypes[name]
		for _, of := range []struct {
			what              string
			has, most, larger int
		}{
			{"fields", has.fields, mostFields, larger.fields},
			{"methods", has.methods, mostMethods, larger.methods},
		} {
			assert.LessOrEqualf(t, of.has, max(of.most, of.larger), "%s: %s", name, of.what)
			if of.larger > 0 {
				assert.Equalf(t, of.larger, of.has, "%s has fewer %s now: lower its bound in largerTypes, or drop it", name, of.what)
			}
		}
	}
}

// sizesOf returns the sizes of all types of the module that are no tests, by package and name.
func sizesOf(t *testing.T) map[string]typeSize {
	t.Helper()
	sizes := map[string]typeSize{}
	add := func(s *source, name string, more typeSize) {
		name = path.Dir(s.path) + "." + name
		of := sizes[name]
		sizes[name] = typeSize{of.fields + more.fields, of.methods + more.methods}
	}
	for _, s := range sources(t) {
		fits, err := build.Default.MatchFile(filepath.Join(root, path.Dir(s.path)), path.Base(s.path))
		require.NoError(t, err)
		if !fits || s.test || isBelow(s.path, "client", "clients", "examples", "packaging", "tests") {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				add(s, receiver(f.Recv.List[0].Type), typeSize{methods: 1})
			}
			types, _ := d.(*ast.GenDecl)
			if types == nil {
				continue
			}
			for _, spec := range types.Specs {
				if of, ok := spec.(*ast.TypeSpec); ok {
					add(s, of.Name.Name, sizeOf(of.Type))
				}
			}
		}
	}
	return sizes
}

// sizeOf returns the fields of a struct, or the methods of an interface.
func sizeOf(of ast.Expr) typeSize {
	switch is := of.(type) {
	case *ast.StructType:
		return typeSize{fields: is.Fields.NumFields()}
	case *ast.InterfaceType:
		return typeSize{methods: is.Methods.NumFields()}
	}
	return typeSize{}
}

// receiver returns the name of the type of a receiver.
func receiver(of ast.Expr) string {
	switch is := of.(type) {
	case *ast.StarExpr:
		return receiver(is.X)
	case *ast.IndexExpr:
		return receiver(is.X)
	case *ast.IndexListExpr:
		return receiver(is.X)
	case *ast.Ident:
		return is.Name
	}
	return ""
}
