package tidy

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shown collects the generic types of this module that a type consists of, each with the way to it.
type shown struct {
	seen  map[types.Type]bool
	found []string
}

// look walks through a type and all that it is made of, with the signatures of all methods.
func (s *shown) look(t types.Type, way string) {
	if s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.look(types.Unalias(t), way)
	case *types.Named:
		way += " > " + types.TypeString(t, nil)
		if t.TypeArgs().Len() > 0 {
			if pkg := t.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), module+"/") {
				s.found = append(s.found, way)
			}
			return
		}
		s.look(t.Underlying(), way)
		for m := range t.Methods() {
			s.look(m.Type(), way+"."+m.Name())
		}
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel, a map
		if m, isMap := t.(*types.Map); isMap {
			s.look(m.Key(), way)
		}
		s.look(t.Elem(), way)
	case *types.Struct:
		for f := range t.Fields() {
			s.look(f.Type(), way+"."+f.Name())
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			s.look(v.Type(), way)
		}
		for v := range t.Results().Variables() {
			s.look(v.Type(), way)
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.look(m.Type(), way+"."+m.Name())
		}
	}
}

// exported returns a package as others see it when they are compiled: with what their compiler reads of it.
func exported(t *testing.T, path string) *types.Package {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", path).Output()
	require.NoError(t, err)
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
	pkg, err := importer.ForCompiler(token.NewFileSet(), "gc", lookup).Import(path)
	require.NoError(t, err)
	return pkg
}

// TestServerShowsNoGenericTypes: a package that mentions a type compiles the generic types in it once more.
// With those of the executor and of the store that takes seconds. Some thirty packages mention the server.
func TestServerShowsNoGenericTypes(t *testing.T) {
	t.Parallel()
	pkg := exported(t, module+"/server")
	s := &shown{seen: map[types.Type]bool{}}
	for _, name := range []string{"Server", "Options", "New"} {
		s.look(pkg.Scope().Lookup(name).Type(), name)
	}
	require.Empty(t, s.found)
	require.Greater(t, len(s.seen), 300, "little was looked at")

	in := &shown{seen: map[types.Type]bool{}}
	in.look(exported(t, module+"/store").Scope().Lookup("Store").Type(), "Store")
	require.NotEmpty(t, in.found, "the store has some")
}
