package tidy

import (
	"go/ast"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoderName is how functions are called that read what another program has written.
var decoderName = regexp.MustCompile(`^(Read|Parse|Load|Decode|From|Split)([A-Z]|$)`)

// decodedTypes are the types of their first parameter. Texts are left out: they come from the command line.
var decodedTypes = []string{"[]byte", "io.Reader", "*bufio.Reader", "resp.Value"}

// TestDecodersAreFuzzed: a file with a fuzz target calls each exported function that decodes bytes.
func TestDecodersAreFuzzed(t *testing.T) {
	decoders, fuzzed := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			if strings.Contains(string(s.text), "\nfunc Fuzz") {
				for _, name := range calledIn(s.file, s.file.Name.Name) {
					fuzzed[name] = true
				}
			}
			continue
		}
		if strings.HasPrefix(s.path, "tests/") {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && isDecoder(f) {
				decoders[s.file.Name.Name+"."+f.Name.Name] = true
			}
		}
	}
	require.Greater(t, len(decoders), 10)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(decoders)) {
		if !fuzzed[name] {
			missing = append(missing, name)
		}
	}
	require.Empty(t, missing, "decoders without a fuzz target")
}

// isDecoder reports whether a declaration is an exported function, without a receiver, that decodes bytes.
func isDecoder(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Type.Results == nil || !decoderName.MatchString(f.Name.Name) || len(f.Type.Params.List) == 0 {
		return false
	}
	return slices.Contains(decodedTypes, types.ExprString(f.Type.Params.List[0].Type))
}

// calledIn returns the functions that a file calls, with their packages.
func calledIn(file *ast.File, own string) (names []string) {
	own = strings.TrimSuffix(own, "_test")
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			names = append(names, own+"."+f.Name)
		case *ast.SelectorExpr:
			if of, ok := f.X.(*ast.Ident); ok {
				names = append(names, of.Name+"."+f.Sel.Name)
			}
		}
		return true
	})
	return names
}
