package tidy

import (
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// privatePart matches a part of a name that private or indirect would match in a comment.
var privatePart = regexp.MustCompile(`^(strangers?|condemn(s|ed|ing)?|circles?|kick(s|ed|ing)?|vouch(es|ed|ing)?|rooms?|roomy|notes?|noted|noting|` +
	`settle[sd]?|settling|settlement|owe[sd]?|owing|patient|told|whose|whom|nobody|somebody|everybody|anybody|whoever|letgo)$`)

// nameParts splits an identifier or the name of a file into its words.
func nameParts(name string) (list []string) {
	letters := []rune(name)
	begin := 0
	flush := func(end int) {
		if begin < end {
			list = append(list, strings.ToLower(string(letters[begin:end])))
		}
		begin = end
	}
	for i, r := range letters {
		switch {
		case !unicode.IsLetter(r):
			flush(i)
			begin = i + 1
		case unicode.IsUpper(r) && i > begin && (unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1])):
			flush(i)
		}
	}
	flush(len(letters))
	return list
}

// privateParts returns the parts of a name that have a standard term.
func privateParts(name string) (list []string) {
	parts := nameParts(name)
	for i, part := range parts {
		if i > 0 && part == "go" && parts[i-1] == "let" {
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
	seen := make(map[string][]string) // what is private in each name
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				parts, known := seen[id.Name]
				if !known {
					parts = privateParts(id.Name)
					seen[id.Name] = parts
				}
				if len(parts) > 0 {
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

// redisText matches phrases of Redis' own texts, which clients get byte for byte, and of its commands.
var redisText = regexp.MustCompile(`Please (also )?note that|Note that|a circle, a box|^"circle"$`)

// TestTextsAreStandard: what the programs say in errors, logs, help and on pages has no such words either.
func TestTextsAreStandard(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || strings.HasPrefix(s.path, "tests/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && faulty(text.Value) {
				plain := redisText.ReplaceAllString(text.Value, "")
				if indirect.MatchString(plain) || private.MatchString(plain) {
					t.Errorf("%s: %s", s.fset.Position(text.Pos()), text.Value)
				}
			}
			return true
		})
	}
}
