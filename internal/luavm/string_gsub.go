package luavm

import (
	"strings"

	"lockserver/internal/lua"
)

// substitution is a run of string.gsub.
type substitution struct {
	*matcher
	by     lua.Value // string, table or function
	text   string    // the text of by, if it is a string
	whole  pieces
	result []byte // the last piece of the result
}

func stringGsub(L *lua.LState) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	by, text := L.At(3), ""
	switch by.Type() {
	case lua.LTString, lua.LTNumber:
		text = checkString(L, 3)
	case lua.LTTable, lua.LTFunction:
	default:
		argumentError(L, 3, "string/function/table expected")
	}
	limit := int(int32(optInt(L, 4, len(subject)+1)))
	sub := &substitution{matcher: newMatcher(L, subject, pattern), by: by, text: text}
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
		if len(sub.result) >= pieceFull {
			sub.result = sub.whole.next(sub.result)
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
	sub.s.charge(L, sub.whole.length+len(sub.result))
	L.PushString(sub.whole.text(sub.result))
	L.PushInt(count)
	return 2
}

// replace appends the replacement of a match.
func (sub *substitution) replace(start, end int) {
	var value lua.Value
	switch sub.by.Type() {
	case lua.LTTable:
		value = sub.L.Index(sub.by, sub.value(0, start, end))
	case lua.LTFunction:
		value = sub.callback(start, end)
	default:
		sub.expand(sub.text, start, end)
		return
	}
	if !value.IsTrue() {
		sub.result = append(sub.result, sub.subject[start:end]...)
	} else if text, ok := textOf(value); ok {
		sub.add(text)
	} else {
		fail(sub.L, "invalid replacement value (a "+value.Type().String()+")")
	}
}

func (sub *substitution) callback(start, end int) lua.Value {
	sub.L.PushValue(sub.by)
	sub.L.Call(sub.push(start, end, true), 1)
	value := sub.L.At(-1)
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
		case !lua.IsDigit(int(text[i])):
			sub.result = append(sub.result, text[i])
		case text[i] == '0':
			sub.add(sub.subject[start:end])
		default:
			text, _ := textOf(sub.value(int(text[i]-'1'), start, end))
			sub.add(text)
		}
	}
	sub.grown()
}

func (sub *substitution) add(text string) {
	sub.result = append(sub.result, text...)
	sub.grown()
}

// grown checks the limits, because a short pattern can make a long result.
func (sub *substitution) grown() {
	sub.s.tooLong(sub.L, sub.whole.length+len(sub.result))
	sub.step()
}
