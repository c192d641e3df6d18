package script

import (
	"errors"
	"strings"
	"time"

	"lockserver/commands"
	"lockserver/internal/luavm"
)

// libraryChunk is the name of a library's code in Lua's messages.
const libraryChunk = "user_function"

// libraryHead is the first line of a library.
type libraryHead struct{ engine, name string }

// readLibraryHead reads the first line of a library, and returns the code after it.
func readLibraryHead(source []byte) (head libraryHead, code []byte, err error) {
	words, code, found, ended := splitShebang(source)
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

// loadTimeout limits the time for the code of a library to register its functions, as in Redis.
const loadTimeout = 500 * time.Millisecond

// libraryLoad is a library while its code is running.
type libraryLoad struct {
	library *library
	started time.Time
	bounded bool // the time limit applies: not for a file at the start
}

func (l *libraryLoad) checkTime() error {
	if l.bounded && time.Since(l.started) > loadTimeout {
		return commands.ErrLoadTimeout
	}
	return nil
}

// loadLibrary adds a library to ls, which may be a copy. bounded applies the time limit to its code.
func (e *Engine) loadLibrary(ls *libraries, source []byte, replace, bounded bool) (*library, error) {
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
	l := &library{name: head.name, code: string(source), functions: map[string]*function{}}
	if err := e.registerFunctions(l, code, bounded); err != nil {
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

// registerFunctions runs the code of a library.
func (e *Engine) registerFunctions(l *library, code []byte, bounded bool) error {
	proto, err := luavm.Compile(libraryChunk, code)
	if err != nil {
		return commands.ErrFunctionCompile(err.Error())
	}
	if e.functions == nil {
		e.functions = e.newFunctionVM()
	}
	m := e.functions
	m.loading = &libraryLoad{library: l, started: time.Now(), bounded: bounded}
	m.restrict(true)
	_, err = m.state.Call(m.state.NewFunction(proto, m.environment))
	m.restrict(false)
	m.loading = nil
	var failed *luavm.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return commands.ErrFunctionRegister(failureText(failed.Value))
	}
	return commands.ErrFunctionRegister(err.Error())
}
