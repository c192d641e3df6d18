package script

import (
	"maps"
	"slices"
	"strings"

	"lockserver/internal/lua"

	"lockserver/commands"
)

// engineName is the only engine of functions, in the form of FUNCTION LIST.
const engineName = "LUA"

// library is the library of a FUNCTION LOAD.
type library struct {
	name, code string
	functions  map[string]*function
}

// function is a function of a library.
type function struct {
	name        string
	description *string // nil: no description
	flags       flagSet
	callback    *lua.LFunction
}

// libraries holds all loaded libraries. The names of libraries are case-sensitive, the names of functions are
// not, as in Redis.
type libraries struct {
	byName    map[string]*library
	functions map[string]*function // by name in lower case
	bytes     int                  // about the memory of all libraries
}

func newLibraries() libraries {
	return libraries{byName: map[string]*library{}, functions: map[string]*function{}}
}

// sorted returns the libraries by name.
func (ls *libraries) sorted() []*library {
	var list []*library
	for _, name := range slices.Sorted(maps.Keys(ls.byName)) {
		list = append(list, ls.byName[name])
	}
	return list
}

// codes returns the code of the libraries, for saving them.
func (ls *libraries) codes() [][]byte {
	var codes [][]byte
	for _, l := range ls.sorted() {
		codes = append(codes, []byte(l.code))
	}
	return codes
}

// clone returns a copy for changes that may be dropped.
func (ls *libraries) clone() libraries {
	return libraries{byName: maps.Clone(ls.byName), functions: maps.Clone(ls.functions), bytes: ls.bytes}
}

func (ls *libraries) link(l *library) {
	ls.bytes += scriptBytes(len(l.code))
	ls.byName[l.name] = l
	for _, f := range l.functions {
		ls.functions[strings.ToLower(f.name)] = f
	}
}

func (ls *libraries) unlink(l *library) {
	ls.bytes -= scriptBytes(len(l.code))
	delete(ls.byName, l.name)
	for _, f := range l.functions {
		delete(ls.functions, strings.ToLower(f.name))
	}
}

// collision returns the name of a function in l that already exists, or "".
func (ls *libraries) collision(l *library) string {
	for _, name := range slices.Sorted(maps.Keys(l.functions)) {
		if ls.functions[strings.ToLower(name)] != nil {
			return name
		}
	}
	return ""
}

// find returns a function by its name, in any case, or nil.
func (ls *libraries) find(name []byte) *function {
	if f := ls.functions[string(name)]; f != nil { // the usual form of a name
		return f
	}
	return ls.functions[strings.ToLower(string(name))]
}

// join adds all libraries of another set. After an error ls must not be used.
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
