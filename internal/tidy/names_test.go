package tidy

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// privatePart matches a part of a name that private or indirect would match in a comment.
var privatePart = regexp.MustCompile(`^(strangers?|condemn(s|ed|ing)?|circles?|kick(s|ed|ing)?|vouch(es|ed|ing)?|rooms?|roomy|notes?|noted|noting|` +
	`settle[sd]?|settling|settlement|owe[sd]?|owing|patient|told|whose|whom|nobody|somebody|everybody|anybody|whoever|letgo)$`)

// namePart matches one part of an identifier or of a file's name.
var namePart = regexp.MustCompile(`[A-Z]+[A-Z]|[A-Z]?[a-z]+|[A-Z]`)

// privateParts returns the parts of a name that have a standard term.
func privateParts(name string) (list []string) {
	parts := namePart.FindAllString(name, -1)
	for i, part := range parts {
		part = strings.ToLower(part)
		if i > 0 && part == "go" && strings.EqualFold(parts[i-1], "let") {
			part = "letgo"
		}
		if privatePart.MatchString(part) {
			list = append(list, part)
		}
	}
	return list
}

func TestPrivateParts(t *testing.T) {
	require.Equal(t, []string{"told", "nobody"}, privateParts("TestWhatWasToldToNobody"))
	require.Equal(t, []string{"letgo"}, privateParts("letGo"))
	require.Equal(t, []string{"room"}, privateParts("DBRoom"))
	require.Equal(t, []string{"note"}, privateParts("server/note_test.go"))
	require.Empty(t, privateParts("voucherNotesless, roomier, HTTPServer, keynoted"))
}

// TestNamesAreStandard: no identifier and no file has a name with a word that this project alone would use.
// CONTRIBUTING.md has the rules for language.
func TestNamesAreStandard(t *testing.T) {
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if parts := privateParts(id.Name); len(parts) > 0 {
					t.Errorf("%s: %s has %q in its name", s.fset.Position(id.Pos()), id.Name, parts)
				}
			}
			return true
		})
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		require.Empty(t, privateParts(d.Name()), path)
		return nil
	})
	require.NoError(t, err)
}
