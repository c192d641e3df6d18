package plant

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// kind is the operation of a change.
type kind int

const (
	insert kind = iota
	omit
	instead
	or
	and
)

// span is a piece of a file, with the code that is put before and after it.
type span struct {
	start, end    int
	before, after string
}

// Apply returns the changed copy of each file that has faults, with all faults in it. The keys are paths from
// the module's root.
func Apply(m *Marked, faults []Fault) (map[string]string, error) {
	spans := map[string]map[[2]int]*span{} // by file, and by begin and end
	for _, f := range faults {
		for _, c := range f.Changes {
			p, ok := m.places[c.marker]
			if !ok {
				return nil, fmt.Errorf("%q: no source has the marker %s", f.Name, c.marker)
			}
			node, before, after, err := c.around(p, strconv.Quote(f.Name))
			if err != nil {
				return nil, fmt.Errorf("%q, at the marker %s in %s: %w", f.Name, c.marker, p.file, err)
			}
			if spans[p.file] == nil {
				spans[p.file] = map[[2]int]*span{}
			}
			at := [2]int{int(node.Pos()) - p.base, int(node.End()) - p.base}
			s := spans[p.file][at]
			if s == nil {
				s = &span{start: at[0], end: at[1]}
				spans[p.file][at] = s
			}
			s.before, s.after = before+s.before, s.after+after
		}
	}
	files := map[string]string{}
	for file, of := range spans {
		files[file] = join(m.texts[file], of)
	}
	return files, nil
}

// around returns the node that a change affects, and the code before and after it. name is the quoted name of
// the fault.
func (c Change) around(p place, name string) (node ast.Node, before, after string, err error) {
	on := "planted(" + name + ")"
	if c.kind == or || c.kind == and {
		if node = condition(p.statement); node == nil {
			return nil, "", "", errors.New("the statement has no condition")
		}
		if c.kind == or {
			return node, "(" + on + " && (" + c.code + ") || (", "))", nil
		}
		return node, "((!" + on + " || (" + c.code + ")) && (", "))", nil
	}
	_, isCase := p.statement.(*ast.CaseClause)
	if !isCase {
		_, isCase = p.statement.(*ast.CommClause)
	}
	assign, _ := p.statement.(*ast.AssignStmt)
	switch {
	case isCase:
		return nil, "", "", errors.New("a case is only a condition: mark a statement in it")
	case c.kind == insert && p.elseIf:
		return nil, "", "", errors.New("nothing can be inserted between else and if")
	case c.kind != insert && assign != nil && assign.Tok == token.DEFINE:
		return nil, "", "", errors.New("the statement declares what is used later: mark the next one")
	}
	switch c.kind {
	case insert:
		before = "if " + on + " {\n" + c.code + "\n}\n"
	case omit:
		before, after = "if !"+on+" {\n", "\n}"
	case instead:
		before, after = "if "+on+" {\n"+c.code+"\n} else {\n", "\n}"
	}
	return p.statement, before, after, nil
}

// condition returns the expression of a statement that Or and And change, or nil.
func condition(statement ast.Node) ast.Node {
	var found ast.Expr
	switch s := statement.(type) {
	case *ast.IfStmt:
		found = s.Cond
	case *ast.ForStmt:
		found = s.Cond
	case *ast.CaseClause:
		if len(s.List) == 1 {
			found = s.List[0]
		}
	case *ast.ReturnStmt:
		if len(s.Results) > 0 {
			found = s.Results[0]
		}
	case *ast.AssignStmt:
		if len(s.Rhs) == 1 {
			found = s.Rhs[0]
		}
	}
	if found == nil {
		return nil
	}
	return found
}

// join returns the text with the code around its spans. Spans lie side by side, or one inside another.
func join(text string, spans map[[2]int]*span) string {
	type edge struct {
		at, other int // other is the position of the span's other edge
		opens     bool
		text      string
	}
	var edges []edge
	// plant:plant-join
	for _, s := range spans {
		edges = append(edges, edge{s.start, s.end, true, s.before}, edge{s.end, s.start, false, s.after})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.opens != b.opens && a.opens:
			return 1 // a span that ends here goes before a span that begins here
		case a.opens != b.opens:
			return -1
		}
		return cmp.Compare(b.other, a.other) // the outer span begins first, and ends last
	})
	var out strings.Builder
	from := 0
	for _, e := range edges {
		out.WriteString(text[from:e.at])
		out.WriteString(e.text)
		from = e.at
	}
	out.WriteString(text[from:])
	return out.String()
}
