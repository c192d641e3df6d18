package luavm

import (
	"strings"

	"lockserver/internal/lua"
)

// loadChunk compiles text for a script, and pushes the function, or nil and the error.
func loadChunk(L *lua.LState, text, name string) int {
	s := FromLua(L)
	s.charge(L, len(text))
	s.work(L, len(text)/8)
	proto, err := lua.Compile(chunkID(name, messageIDSize), chunkID(name, chunkIDSize), text)
	if err != nil {
		L.PushValue(lua.Value{})
		L.PushString(err.Error())
		return 2
	}
	L.Push(L.NewClosure(proto, s.globals))
	return 1
}

func baseLoadString(L *lua.LState) int {
	text := checkString(L, 1)
	name := text
	if L.Get(2) != lua.LNil {
		name = checkString(L, 2)
	}
	return loadChunk(L, text, name)
}

// baseLoad compiles the text that a function returns piece by piece.
func baseLoad(L *lua.LState) int {
	reader := checkFunction(L, 1)
	name := "=(load)"
	if L.Get(2) != lua.LNil {
		name = checkString(L, 2)
	}
	s := FromLua(L)
	var text strings.Builder
	for {
		piece := s.callOne(L, reader)
		if piece == lua.LNil {
			break
		}
		if !isText(piece) {
			L.PushValue(lua.Value{})
			L.PushString(L.CallerPosition(1) + "reader function must return a string")
			return 2
		}
		if toText(piece) == "" {
			break
		}
		s.charge(L, len(toText(piece)))
		text.WriteString(toText(piece))
	}
	return loadChunk(L, text.String(), name)
}

// The longest name of a chunk in a compiler message, Lua's MAXSRC, and elsewhere, LUA_IDSIZE.
const (
	messageIDSize = 80
	chunkIDSize   = 60
)

// chunkID returns a chunk's name as messages show it. After = or @ the name is literal. Otherwise the name is
// source code, and its first line is quoted.
func chunkID(name string, size int) string {
	name = lua.CString(name)
	switch {
	case strings.HasPrefix(name, "="):
		return cut(name[1:], size-1)
	case strings.HasPrefix(name, "@"):
		name = name[1:]
		if limit := size - len(" '...' ") - 1; len(name) > limit {
			return "..." + name[len(name)-limit:]
		}
		return name
	}
	limit := size - len(` [string "..."] `) - 1
	line := name
	if end := strings.IndexAny(name, "\r\n"); end >= 0 {
		line = name[:end]
	}
	if len(line) > limit {
		line = line[:limit]
	}
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}

func cut(s string, limit int) string {
	if len(s) > limit {
		return s[:limit]
	}
	return s
}
