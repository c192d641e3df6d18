package luavm

import (
	"fmt"
	"math"

	"lockserver/internal/lua"
)

// jsonInvalid is the setting for numbers that JSON does not have.
type jsonInvalid int

const (
	jsonRefuse jsonInvalid = iota
	jsonAccept
	jsonNull
)

// json holds the settings of an instance of cjson 2.1.0.
type json struct {
	null          *lua.LUserData
	sparseConvert bool // arrays with too many holes become objects
	sparseRatio   int
	sparseSafe    int
	encodeDepth   int
	decodeDepth   int
	precision     int
	encodeInvalid jsonInvalid
	decodeInvalid jsonInvalid
	keepBuffer    bool
}

// maxJSONDepth limits the nesting for any settings; the limit of the C version is Lua's stack.
const maxJSONDepth = 2600

// newJSON makes the table cjson, and all that cjson.new makes.
func (s *State) newJSON(null *lua.LUserData) *lua.LTable {
	j := &json{
		null: null, sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, precision: 14,
		decodeInvalid: jsonAccept, keepBuffer: true,
	}
	table := lua.NewTable(0, 16)
	for name, fn := range map[string]lua.LGFunction{
		"encode": j.encode,
		"decode": j.decode,
		"new": func(L *lua.LState) int {
			FromLua(L).charge(L, 16<<10)
			L.Push(s.newJSON(null))
			return 1
		},
		"encode_sparse_array":     j.setSparse,
		"encode_max_depth":        intSetting(&j.encodeDepth, 1, math.MaxInt32),
		"decode_max_depth":        intSetting(&j.decodeDepth, 1, math.MaxInt32),
		"encode_number_precision": intSetting(&j.precision, 1, 14),
		"encode_keep_buffer":      j.setKeepBuffer,
		"encode_invalid_numbers":  invalidSetting(&j.encodeInvalid, jsonNull),
		"decode_invalid_numbers":  invalidSetting(&j.decodeInvalid, jsonAccept),
	} {
		table.RawSetString(name, s.vm.NewFunction(fn))
	}
	table.RawSetString("null", null)
	table.RawSetString("_NAME", lua.LString("cjson"))
	table.RawSetString("_VERSION", lua.LString("2.1.0"))
	return table
}

// atMost raises an error for more than count arguments.
func atMost(L *lua.LState, count int) {
	if L.GetTop() > count {
		argumentError(L, count+1, "found too many arguments")
	}
}

// option sets an integer setting to an argument, if the argument is given, and pushes the setting.
func option(L *lua.LState, argument int, setting *int, low, high int) {
	if L.Get(argument) != lua.LNil {
		value := checkInt(L, argument)
		if value < low || value > high {
			argumentError(L, 1, fmt.Sprintf("expected integer between %d and %d", low, high))
		}
		*setting = value
	}
	L.PushInt(*setting)
}

func intSetting(setting *int, low, high int) lua.LGFunction {
	return func(L *lua.LState) int {
		atMost(L, 1)
		option(L, 1, setting, low, high)
		return 1
	}
}

// words lists the words for a setting that is on or off. Not every setting accepts the third.
var words = [...]string{"off", "on", "null"}

// choose returns an argument that is a boolean or one of the words up to last.
func choose(L *lua.LState, last jsonInvalid) jsonInvalid {
	if value, ok := L.Get(1).(lua.LBool); ok {
		if value {
			return jsonAccept
		}
		return jsonRefuse
	}
	text := checkString(L, 1)
	for i, word := range words[:last+1] {
		if text == word {
			return jsonInvalid(i)
		}
	}
	argumentError(L, 1, "invalid option '"+text+"'")
	return jsonRefuse
}

func invalidSetting(setting *jsonInvalid, last jsonInvalid) lua.LGFunction {
	return func(L *lua.LState) int {
		atMost(L, 1)
		if L.Get(1) != lua.LNil {
			*setting = choose(L, last)
		}
		if *setting == jsonNull {
			return pushString(L, words[jsonNull])
		}
		L.PushBool(*setting == jsonAccept)
		return 1
	}
}

func (j *json) setKeepBuffer(L *lua.LState) int {
	atMost(L, 1)
	if L.Get(1) != lua.LNil {
		j.keepBuffer = choose(L, jsonAccept) == jsonAccept
	}
	L.PushBool(j.keepBuffer)
	return 1
}

func (j *json) setSparse(L *lua.LState) int {
	atMost(L, 3)
	if L.Get(1) != lua.LNil {
		j.sparseConvert = choose(L, jsonAccept) == jsonAccept
	}
	L.SetTop(3)
	L.PushBool(j.sparseConvert)
	option(L, 2, &j.sparseRatio, 0, math.MaxInt32)
	option(L, 3, &j.sparseSafe, 0, math.MaxInt32)
	return 3
}

// oneArgument raises an error unless there is exactly one argument.
func oneArgument(L *lua.LState) {
	if L.GetTop() != 1 {
		argumentError(L, 1, "expected 1 argument")
	}
}
