package plant

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Marked holds the place of each marker in the sources.
type Marked struct {
	places map[string]place // by marker
	texts  map[string]string
}

// place is a marked statement.
type place struct {
	file      string // from the module's root, with slashes
	statement ast.Node
	elseIf    bool // the statement follows an else
	base      int  // the position of the file's first byte
}

// markerText matches a comment that is a marker.
var markerText = regexp.MustCompile(`^// plant:([a-z0-9-]+)$`)

// Find finds the markers in the module at root. Test files have no markers.
func Find(root string) (*Marked, error) {
	m := &Marked{map[string]place{}, map[string]string{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(b, []byte("// plant:")) {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return m.add(filepath.ToSlash(file), b)
	})
	return m, err
}

// Names returns all markers, in order.
func (m *Marked) Names() []string {
	var names []string
	for name := range m.places {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// add finds the markers of one file.
func (m *Marked) add(file string, text []byte) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	m.texts[file] = string(text)
	first, elseIfs := statements(set, parsed)
	base := set.File(parsed.FileStart).Base()
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			said := markerText.FindStringSubmatch(c.Text)
			if said == nil {
				continue
			}
			at := set.Position(c.Pos())
			line := at.Line
			if before := text[:at.Offset]; len(bytes.TrimSpace(before[bytes.LastIndexByte(before, '\n')+1:])) == 0 {
				line++ // the marker has its own line, so the statement is on the next
			}
			was, twice := m.places[said[1]]
			switch {
			case twice:
				return fmt.Errorf("%s: the marker %s is in %s, too", at, said[1], was.file)
			case first[line] == nil:
				return fmt.Errorf("%s: no statement begins at the marker %s", at, said[1])
			}
			m.places[said[1]] = place{file, first[line], elseIfs[first[line]], base}
		}
	}
	return nil
}

// statements returns, by line, the outermost statement that begins first on the line, and the set of
// statements that follow an else.
func statements(set *token.FileSet, file *ast.File) (first map[int]ast.Node, elseIfs map[ast.Node]bool) {
	first, elseIfs = map[int]ast.Node{}, map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(ast.Stmt)
		if _, block := n.(*ast.BlockStmt); !ok || block {
			return true
		}
		if i, ok := n.(*ast.IfStmt); ok && i.Else != nil {
			elseIfs[i.Else] = true
		}
		// A parent is visited before its children.
		line := set.Position(s.Pos()).Line
		if was := first[line]; was == nil || s.Pos() < was.Pos() {
			first[line] = s
		}
		return true
	})
	return first, elseIfs
}
