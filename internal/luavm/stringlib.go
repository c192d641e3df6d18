package luavm

import (
	"strings"

	"lockserver/internal/lua"
)

// stringLibrary is the table string.
func stringLibrary() library {
	return library{
		"byte":    stringByte,
		"char":    stringChar,
		"dump":    stringDump,
		"find":    func(L *lua.LState) int { return search(L, true) },
		"format":  stringFormat,
		"gfind":   stringGmatch,
		"gmatch":  stringGmatch,
		"gsub":    stringGsub,
		"len":     stringLen,
		"lower":   stringLower,
		"match":   func(L *lua.LState) int { return search(L, false) },
		"rep":     stringRep,
		"reverse": stringReverse,
		"sub":     stringSub,
		"upper":   stringUpper,
	}
}

func pushString(L *lua.LState, text string) int {
	L.PushString(text)
	return 1
}

// relative converts a position from the end to a position from the start; 0 if it is before the start.
func relative(position, length int) int {
	if position < 0 {
		position += length + 1
	}
	return max(position, 0)
}

func stringLen(L *lua.LState) int {
	L.PushInt(len(checkString(L, 1)))
	return 1
}

func stringSub(L *lua.LState) int {
	text := checkString(L, 1)
	start := max(relative(checkInt(L, 2), len(text)), 1)
	end := min(relative(optInt(L, 3, -1), len(text)), len(text))
	if start > end {
		return pushString(L, "")
	}
	return pushString(L, text[start-1:end])
}

func stringReverse(L *lua.LState) int {
	text := checkString(L, 1)
	FromLua(L).charge(L, len(text))
	reversed := make([]byte, len(text))
	for i := range reversed {
		reversed[i] = text[len(text)-1-i]
	}
	return pushString(L, string(reversed))
}

func stringLower(L *lua.LState) int {
	return mapBytes(L, func(c byte) byte {
		if c >= 'A' && c <= 'Z' {
			return c | 0x20
		}
		return c
	})
}

func stringUpper(L *lua.LState) int {
	return mapBytes(L, func(c byte) byte {
		if c >= 'a' && c <= 'z' {
			return c &^ 0x20
		}
		return c
	})
}

func mapBytes(L *lua.LState, fn func(byte) byte) int {
	text := checkString(L, 1)
	s := FromLua(L)
	s.charge(L, len(text))
	s.work(L, len(text)/16)
	mapped := make([]byte, len(text))
	for i := range mapped {
		mapped[i] = fn(text[i])
	}
	return pushString(L, string(mapped))
}

func stringRep(L *lua.LState) int {
	text, count := checkString(L, 1), int(int32(checkInt(L, 2)))
	if count <= 0 || text == "" {
		return pushString(L, "")
	}
	s := FromLua(L)
	s.charge(L, len(text)*count)
	s.work(L, len(text)*count/64)
	return pushString(L, strings.Repeat(text, count))
}

func stringByte(L *lua.LState) int {
	text := checkString(L, 1)
	start := relative(optInt(L, 2, 1), len(text))
	end := min(relative(optInt(L, 3, start), len(text)), len(text))
	start = max(start, 1)
	if start > end {
		return 0
	}
	count := end - start + 1
	if count+L.GetTop() > maxCStack {
		fail(L, "string slice too long")
	}
	for _, c := range []byte(text[start-1 : end]) {
		L.PushInt(int(c))
	}
	return count
}

func stringChar(L *lua.LState) int {
	count := L.GetTop()
	bytes := make([]byte, count)
	for i := range bytes {
		code := int(int32(checkInt(L, i+1)))
		if code < 0 || code > 255 {
			argumentError(L, i+1, "invalid value")
		}
		bytes[i] = byte(code)
	}
	return pushString(L, string(bytes))
}

func stringDump(L *lua.LState) int {
	checkFunction(L, 1)
	fail(L, "unable to dump given function")
	return 0
}

// specials lists the bytes that make a pattern more than plain text.
const specials = "^$*+?.([%-"

// search is string.find and string.match.
func search(L *lua.LState, find bool) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	init := relative(optInt(L, 3, 1), len(subject)) - 1
	init = min(max(init, 0), len(subject))
	if find && (L.At(4).IsTrue() || !strings.ContainsAny(pattern, specials)) {
		return findPlain(L, subject, pattern, init)
	}
	m := newMatcher(L, subject, pattern)
	start, anchored := 0, strings.HasPrefix(pattern, "^")
	if anchored {
		start = 1
	}
	for i := init; i <= len(subject); i++ {
		m.level = 0
		if end := m.match(i, start); end != noMatch {
			if find {
				L.PushInt(i + 1)
				L.PushInt(end)
				return m.push(i, end, false) + 2
			}
			return m.push(i, end, true)
		}
		if anchored {
			break
		}
	}
	L.PushValue(lua.Value{})
	return 1
}

func findPlain(L *lua.LState, subject, pattern string, init int) int {
	FromLua(L).work(L, (len(subject)-init)/16)
	at := strings.Index(subject[init:], pattern)
	if at < 0 {
		L.PushValue(lua.Value{})
		return 1
	}
	L.PushInt(init + at + 1)
	L.PushInt(init + at + len(pattern))
	return 2
}

func stringGmatch(L *lua.LState) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	next := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m := newMatcher(L, subject, pattern)
		for i := next; i <= len(subject); i++ {
			m.level = 0
			end := m.match(i, 0)
			if end == noMatch {
				continue
			}
			next = end
			if end == i {
				next++
			}
			return m.push(i, end, true)
		}
		next = len(subject) + 1
		return 0
	}))
	return 1
}
