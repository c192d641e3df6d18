package luavm

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// substitution is a run of string.gsub.
type substitution struct {
	*matcher
	by     lua.LValue // string, table or function
	result []byte
}

func stringGsub(L *lua.LState) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	by := L.Get(3)
	switch by.(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		argumentError(L, 3, "string/function/table expected")
	}
	limit := int(int32(optInt(L, 4, len(subject)+1)))
	sub := &substitution{matcher: newMatcher(L, subject, pattern), by: by}
	start, anchored := 0, strings.HasPrefix(pattern, "^")
	if anchored {
		start = 1
	}
	count, i := 0, 0
	for count < limit {
		sub.level = 0
		end := sub.match(i, start)
		if end != noMatch {
			count++
			sub.replace(i, end)
		}
		switch {
		case end != noMatch && end > i:
			i = end
		case i < len(subject):
			sub.result = append(sub.result, subject[i])
			i++
		default:
			i = len(subject) + 1
		}
		if anchored || i > len(subject) {
			break
		}
	}
	if i < len(subject) {
		sub.result = append(sub.result, subject[i:]...)
	}
	sub.s.charge(L, len(sub.result))
	L.Push(lua.LString(sub.result))
	L.Push(lua.LNumber(count))
	return 2
}

// replace appends what stands for a match.
func (sub *substitution) replace(start, end int) {
	var value lua.LValue
	switch by := sub.by.(type) {
	case lua.LString, lua.LNumber:
		sub.expand(toText(by), start, end)
		return
	case *lua.LTable:
		value = sub.L.GetTable(by, sub.value(0, start, end))
	case *lua.LFunction:
		value = sub.callback(by, start, end)
	}
	switch {
	case !lua.LVAsBool(value):
		sub.result = append(sub.result, sub.subject[start:end]...)
	case isText(value):
		sub.add(toText(value))
	default:
		fail(sub.L, "invalid replacement value (a "+typeName(value)+")")
	}
}

func (sub *substitution) callback(fn *lua.LFunction, start, end int) lua.LValue {
	sub.s.descend(sub.L)
	sub.L.Push(fn)
	sub.L.Call(sub.push(start, end, true), 1)
	sub.s.ascend()
	value := sub.L.Get(-1)
	sub.L.Pop(1)
	return value
}

// expand appends a replacement string, with its captures.
func (sub *substitution) expand(text string, start, end int) {
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			sub.result = append(sub.result, text[i])
			continue
		}
		i++
		switch {
		case i >= len(text):
			sub.result = append(sub.result, 0)
		case !isDigit(int(text[i])):
			sub.result = append(sub.result, text[i])
		case text[i] == '0':
			sub.add(sub.subject[start:end])
		default:
			sub.add(toText(sub.value(int(text[i]-'1'), start, end)))
		}
	}
	sub.grown()
}

func (sub *substitution) add(text string) {
	sub.result = append(sub.result, text...)
	sub.grown()
}

// grown looks at the limits, since a short pattern can make a long result.
func (sub *substitution) grown() {
	if int64(len(sub.result)) > sub.s.options.MaxMemoryBytes {
		fail(sub.L, errMemory.Error())
	}
	sub.step()
}
