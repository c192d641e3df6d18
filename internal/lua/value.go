package lua

import (
	"fmt"
	"math"
	"unsafe"
)

// Value is a Lua value in two words. The zero Value is nil.
//
// The word n gives the type. Numbers are stored with all bits inverted, so every n from firstNumber on is a
// number. Below that, n is a tag, and a string's n is tagString plus its length in bytes. p points to the
// bytes of a string, or to a table, function, userdata or thread. It has no meaning for other values.
type Value struct {
	p unsafe.Pointer
	n uint64
}

// The tags in Value.n.
const (
	tagNil = iota
	tagFalse
	tagTrue
	tagTable
	tagFunction
	tagUserData
	tagThread

	tagString   = 1 << 48
	firstNumber = 1 << 50
)

// Number makes a Value of a number. A NaN becomes a quiet NaN without its payload, because a payload could
// look like a tag.
func Number(f float64) Value {
	if f != f {
		f = math.Float64frombits(math.Float64bits(f)&(1<<63) | 0x7ff8000000000000)
	}
	return Value{n: ^math.Float64bits(f)}
}

// number is Number for results of arithmetic, because a NaN from arithmetic has no payload.
func number(f float64) Value { return Value{n: ^math.Float64bits(f)} }

// String makes a Value that shares the bytes of a string.
func String(s string) Value {
	return Value{p: unsafe.Pointer(unsafe.StringData(s)), n: tagString | uint64(len(s))}
}

// Bool makes a Value of a boolean.
func Bool(b bool) Value {
	if b {
		return Value{n: tagTrue}
	}
	return Value{n: tagFalse}
}

// Table makes a Value of a table.
func Table(t *LTable) Value { return Value{p: unsafe.Pointer(t), n: tagTable} }

// Function makes a Value of a function.
func Function(f *LFunction) Value { return Value{p: unsafe.Pointer(f), n: tagFunction} }

func (v Value) isNumber() bool { return v.n >= firstNumber }
func (v Value) isString() bool { return v.n >= tagString && v.n < firstNumber }
func (v Value) isTable() bool  { return v.n == tagTable }
func (v Value) isTrue() bool   { return v.n > tagFalse }

// IsNil tells whether v is nil.
func (v Value) IsNil() bool { return v.n == tagNil }

// IsTrue tells whether v counts as true.
func (v Value) IsTrue() bool { return v.n > tagFalse }

// float is the number that v is.
func (v Value) float() float64 { return math.Float64frombits(^v.n) }

// str is the string that v is.
func (v Value) str() string { return unsafe.String((*byte)(v.p), int(v.n&(tagString-1))) }

func (v Value) table() *LTable       { return (*LTable)(v.p) }
func (v Value) function() *LFunction { return (*LFunction)(v.p) }

// setNumber makes v a number. It avoids the write barrier if p is nil already.
func (v *Value) setNumber(f float64) {
	v.n = ^math.Float64bits(f)
	if v.p != nil {
		v.p = nil
	}
}

// AsNumber is the number that v is; ok is false for other values.
func (v Value) AsNumber() (f float64, ok bool) {
	if v.isNumber() {
		return v.float(), true
	}
	return 0, false
}

// AsString is the string that v is; ok is false for other values.
func (v Value) AsString() (s string, ok bool) {
	if v.isString() {
		return v.str(), true
	}
	return "", false
}

// AsTable is the table that v is, nil for other values.
func (v Value) AsTable() *LTable {
	if v.isTable() {
		return v.table()
	}
	return nil
}

// AsUserData is the userdata that v is, nil for other values.
func (v Value) AsUserData() *LUserData {
	if v.n == tagUserData {
		return (*LUserData)(v.p)
	}
	return nil
}

// Type is the type of v.
func (v Value) Type() LValueType {
	switch {
	case v.n >= firstNumber:
		return LTNumber
	case v.n >= tagString:
		return LTString
	}
	return [...]LValueType{LTNil, LTBool, LTBool, LTTable, LTFunction, LTUserData, LTThread}[v.n]
}

// RawEqual is equality without metamethods.
func RawEqual(a, b Value) bool {
	if a.n != b.n {
		return a.n >= firstNumber && b.n >= firstNumber && a.float() == b.float()
	}
	switch {
	case a.n >= firstNumber:
		f := a.float()
		return f == f
	case a.n <= tagTrue || a.p == b.p:
		return true
	case a.n >= tagString:
		return a.str() == b.str()
	default:
		return false
	}
}

// LValueType is a type of Lua.
type LValueType uint8

// The types of Lua.
const (
	LTNil LValueType = iota
	LTBool
	LTNumber
	LTString
	LTFunction
	LTUserData
	LTThread
	LTTable
)

// String is the type as Lua names it.
func (t LValueType) String() string {
	return [...]string{"nil", "boolean", "number", "string", "function", "userdata", "thread", "table"}[t]
}

// LValue is a Lua value as Go code handles it: LNil, LBool, LNumber, LString, *LTable, *LFunction, *LUserData
// or *LState.
type LValue interface {
	Type() LValueType
	String() string
}

type (
	// LNilType is the type of LNil.
	LNilType struct{}
	// LBool is a boolean.
	LBool bool
	// LNumber is a number.
	LNumber float64
	// LString is a string of any bytes.
	LString string
)

// The constants among the values.
var (
	LNil   LValue = new(LNilType)
	LTrue  LValue = LBool(true)
	LFalse LValue = LBool(false)
)

// LUserData is a value of the embedder. Scripts cannot use it, except to pass it on.
type LUserData struct {
	Value any
	id    uint32
}

// Type implements LValue.
func (*LNilType) Type() LValueType  { return LTNil }
func (LBool) Type() LValueType      { return LTBool }
func (LNumber) Type() LValueType    { return LTNumber }
func (LString) Type() LValueType    { return LTString }
func (*LTable) Type() LValueType    { return LTTable }
func (*LFunction) Type() LValueType { return LTFunction }
func (*LUserData) Type() LValueType { return LTUserData }
func (*LState) Type() LValueType    { return LTThread }

// String implements LValue.
func (*LNilType) String() string { return "nil" }

func (b LBool) String() string {
	if b {
		return "true"
	}
	return "false"
}

func (n LNumber) String() string    { return FormatNumber(float64(n)) }
func (s LString) String() string    { return string(s) }
func (t *LTable) String() string    { return fmt.Sprintf("table: %p", t) }
func (f *LFunction) String() string { return fmt.Sprintf("function: %p", f) }
func (u *LUserData) String() string { return fmt.Sprintf("userdata: %p", u) }
func (l *LState) String() string    { return fmt.Sprintf("thread: %p", l) }

// String is v as an error message shows it.
func (v Value) String() string { return v.Boxed().String() }

// Of converts an LValue to a Value.
func Of(v LValue) Value {
	switch x := v.(type) {
	case LNumber:
		return Number(float64(x))
	case LString:
		return String(string(x))
	case *LTable:
		return Table(x)
	case LBool:
		return Bool(bool(x))
	case *LFunction:
		return Function(x)
	case *LUserData:
		return Value{p: unsafe.Pointer(x), n: tagUserData}
	case *LState:
		return Value{p: unsafe.Pointer(x), n: tagThread}
	default:
		return Value{}
	}
}

// Boxed converts v to an LValue.
func (v Value) Boxed() LValue {
	switch {
	case v.n >= firstNumber:
		return LNumber(v.float())
	case v.n >= tagString:
		return LString(v.str())
	}
	switch v.n {
	case tagFalse:
		return LFalse
	case tagTrue:
		return LTrue
	case tagTable:
		return v.table()
	case tagFunction:
		return v.function()
	case tagUserData:
		return (*LUserData)(v.p)
	case tagThread:
		return (*LState)(v.p)
	default:
		return LNil
	}
}

// Int makes a Value of an integer.
func Int(n int) Value { return number(float64(n)) }

// Nil is the value nil.
var Nil = Value{}
