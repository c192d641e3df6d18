package server

import (
	"maps"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"lockserver/commands"
)

// engineName is the only engine of functions, as FUNCTION LIST writes it.
const engineName = "LUA"

// library is what one FUNCTION LOAD has loaded.
type library struct {
	name, code string
	functions  map[string]*libraryFunction
}

// libraryFunction is a function of a library.
type libraryFunction struct {
	name        string
	description *string // nil: none was given
	flags       scriptFlags
	callback    *lua.LFunction
}

// libraries are all that are loaded. Names of libraries are told apart by case, those of
// functions are not, as in Redis.
type libraries struct {
	byName    map[string]*library
	functions map[string]*libraryFunction // by name in lower case
}

func newLibraries() libraries {
	return libraries{byName: map[string]*library{}, functions: map[string]*libraryFunction{}}
}

// sorted returns the libraries by name.
func (ls *libraries) sorted() []*library {
	var list []*library
	for _, name := range slices.Sorted(maps.Keys(ls.byName)) {
		list = append(list, ls.byName[name])
	}
	return list
}

// codes returns what has to be saved of the libraries.
func (ls *libraries) codes() [][]byte {
	var codes [][]byte
	for _, l := range ls.sorted() {
		codes = append(codes, []byte(l.code))
	}
	return codes
}

// clone returns a copy that can be changed on trial.
func (ls *libraries) clone() libraries {
	return libraries{byName: maps.Clone(ls.byName), functions: maps.Clone(ls.functions)}
}

func (ls *libraries) link(l *library) {
	ls.byName[l.name] = l
	for _, f := range l.functions {
		ls.functions[strings.ToLower(f.name)] = f
	}
}

func (ls *libraries) unlink(l *library) {
	delete(ls.byName, l.name)
	for _, f := range l.functions {
		delete(ls.functions, strings.ToLower(f.name))
	}
}

// collision returns the name of a function of l that there is already, or "".
func (ls *libraries) collision(l *library) string {
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		if ls.functions[strings.ToLower(name)] != nil {
			return name
		}
	}
	return ""
}

// find returns a function by its name, in any case of letters, or nil.
func (ls *libraries) find(name []byte) *libraryFunction {
	if f := ls.functions[string(name)]; f != nil { // as most names are written
		return f
	}
	return ls.functions[strings.ToLower(string(name))]
}

// join adds all libraries of another set. After an error ls is not to be used.
func (ls *libraries) join(other *libraries, replace bool) error {
	for _, l := range other.sorted() {
		old := ls.byName[l.name]
		if old != nil && !replace {
			return commands.ErrLibraryCollision(l.name)
		}
		if old != nil {
			ls.unlink(old)
		}
	}
	for _, l := range other.sorted() {
		if name := ls.collision(l); name != "" {
			return commands.ErrFunctionExists(name)
		}
	}
	for _, l := range other.sorted() {
		ls.link(l)
	}
	return nil
}

// libraryHead is what the first line of a library says.
type libraryHead struct{ engine, name string }

// readLibraryHead reads the first line of a library, and returns the code behind it.
func readLibraryHead(source []byte) (head libraryHead, code []byte, err error) {
	words, code, found, ended := firstLine(source)
	switch {
	case !found:
		return head, nil, commands.ErrLibraryNoShebang
	case !ended, len(words) == 0:
		return head, nil, commands.ErrLibraryShebang
	}
	head.engine = words[0][len("#!"):]
	named := false
	for _, w := range words[1:] {
		if len(w) < len("name=") || !strings.EqualFold(w[:len("name=")], "name=") {
			return head, nil, commands.ErrLibraryOption(w)
		}
		if named {
			return head, nil, commands.ErrLibraryNameTwice
		}
		head.name, named = w[len("name="):], true
	}
	if !named {
		return head, nil, commands.ErrLibraryNoName
	}
	return head, code, nil
}

// validFunctionName reports whether a library or a function may have the name.
func validFunctionName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != ""
}

// loadTimeout bounds how long the code of a library may run to register its functions, as in Redis.
const loadTimeout = 500 * time.Millisecond

// libraryLoad is a library whose code is being run.
type libraryLoad struct {
	library *library
	started time.Time
	bounded bool // not at start, from a file
}

func (l *libraryLoad) checkTime() error {
	if l.bounded && time.Since(l.started) > loadTimeout {
		return commands.ErrLoadTimeout
	}
	return nil
}

// loadLibrary adds a library to ls, which may be a copy on trial. bounded: its code must not take long.
func (ex *executor) loadLibrary(ls *libraries, source []byte, replace, bounded bool) (*library, error) {
	head, code, err := readLibraryHead(source)
	switch {
	case err != nil:
		return nil, err
	case !validFunctionName(head.name):
		return nil, commands.ErrLibraryName
	case !strings.EqualFold(head.engine, engineName):
		return nil, commands.ErrLibraryEngine(head.engine)
	}
	old := ls.byName[head.name]
	if old != nil && !replace {
		return nil, commands.ErrLibraryExists(head.name)
	}
	l := &library{name: head.name, code: string(source), functions: map[string]*libraryFunction{}}
	if err := ex.registerFunctions(l, code, bounded); err != nil {
		return nil, err
	}
	if len(l.functions) == 0 {
		return nil, commands.ErrLibraryEmpty
	}
	if old != nil {
		ls.unlink(old)
	}
	if name := ls.collision(l); name != "" {
		if old != nil {
			ls.link(old)
		}
		return nil, commands.ErrFunctionExists(name)
	}
	ls.link(l)
	return l, nil
}
