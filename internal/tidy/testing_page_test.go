package tidy

import (
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCallsOfTheTestingPage: the calls that docs/TESTING.md has for those of miniredis compile.
func TestCallsOfTheTestingPage(t *testing.T) {
	t.Parallel()
	pkg := exported(t, module+"/lockservertest")
	server := types.NewPointer(pkg.Scope().Lookup("Server").Type())
	here := types.NewPackage("here", "here")
	text := types.Typ[types.String]
	for name, of := range map[string]types.Type{"s": server, "key": text, "value": text, "password": text, "n": types.Typ[types.Int]} {
		here.Scope().Insert(types.NewVar(token.NoPos, here, name, of))
	}
	_, table, ok := strings.Cut(page(t, "docs", "TESTING.md"), "| `miniredis.RunT(t)`")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	checked := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, call := range regexp.MustCompile("`((?:Do|Check)\\([^`]*\\))`").FindAllStringSubmatch(cells[2], -1) {
			_, err := types.Eval(token.NewFileSet(), here, token.NoPos, "s."+call[1])
			require.NoError(t, err, call[1])
			checked++
		}
	}
	require.Greater(t, checked, 4)
}
