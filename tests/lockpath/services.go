package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// place is a line of a file, with the file's path from the root of the module.
type place struct {
	file string
	line int
}

// block parses a line of a coverage profile: the start of the block, and how often it ran.
func block(line string) (at place, n int, ok bool) {
	at.file, line, ok = strings.Cut(strings.TrimSpace(line), ":")
	fields := strings.Fields(line)
	if !ok || len(fields) != 3 {
		return at, 0, false
	}
	first, _, _ := strings.Cut(fields[0], ".")
	at.line, _ = strconv.Atoi(first)
	n, err := strconv.Atoi(fields[2])
	return at, n, err == nil
}

// findServices returns the first lines of the methods that implement commands.Services.
// root is the root of the module.
func findServices(root string) (map[place]string, error) {
	files := token.NewFileSet()
	ctx, err := parser.ParseFile(files, filepath.Join(root, "commands", "ctx.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	ast.Inspect(ctx, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && (spec.Name.Name == "ShardServices" || spec.Name.Name == "ServerServices") {
			for _, m := range spec.Type.(*ast.InterfaceType).Methods.List {
				names[m.Names[0].Name] = true
			}
		}
		return true
	})
	if len(names) == 0 {
		return nil, errors.New("commands/ctx.go has no interfaces ShardServices and ServerServices")
	}
	paths, err := filepath.Glob(filepath.Join(root, "server", "*.go"))
	if err != nil {
		return nil, err
	}
	inShard, err := filepath.Glob(filepath.Join(root, "server", "shard", "*.go"))
	if err != nil {
		return nil, err
	}
	paths = append(paths, inShard...)
	found := map[place]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && names[f.Name.Name] && implements(f) {
				at := files.Position(f.Body.Lbrace)
				found[place{filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))), at.Line}] = f.Name.Name
			}
		}
	}
	return found, nil
}

// implements reports whether a function is a method of one of the types that together implement
// commands.Services.
func implements(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	t := f.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	name, ok := t.(*ast.Ident)
	return ok && (name.Name == "services" || name.Name == "executor" || name.Name == "Shard")
}
