package tidy

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTreesAreHidden: importers of the store do not see the type of a tree. The compiler compiles all
// methods of an instantiated generic type in each package that sees it, directly or not. When fields and
// methods of streams and hashes named their trees, each of 70 packages took four times as long. Fields and
// methods therefore name no tree, except in types with a name that ends in "Trees", and only functions name
// those types.
func TestTreesAreHidden(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || layer(s.pkg) != "store" {
			continue
		}
		check := func(where string, fields *ast.FieldList) {
			if fields == nil {
				return
			}
			ast.Inspect(fields, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.IndexExpr: // btree.BTreeG[item]; btree.PathHint has no parameter, and costs nothing
					sel, ok := n.X.(*ast.SelectorExpr)
					require.Falsef(t, ok && isBtree(sel.X), seen, s.fset.Position(n.Pos()), where)
				case *ast.IndexListExpr:
					sel, ok := n.X.(*ast.SelectorExpr)
					require.Falsef(t, ok && isBtree(sel.X), seen, s.fset.Position(n.Pos()), where)
				case *ast.Ident:
					require.Falsef(t, strings.HasSuffix(n.Name, "Trees"), seen, s.fset.Position(n.Pos()), where)
				}
				return true
			})
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					check("method "+d.Name.Name, d.Type.Params)
					check("method "+d.Name.Name, d.Type.Results)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					ts, ok := spec.(*ast.TypeSpec)
					if !ok || strings.HasSuffix(ts.Name.Name, "Trees") {
						continue
					}
					check("type "+ts.Name.Name, &ast.FieldList{List: []*ast.Field{{Type: ts.Type}}})
				}
			}
		}
	}
}

const seen = "%s: %s: importers see the type of a tree"

func isBtree(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == "btree"
}
