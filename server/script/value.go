package script

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"

	"lockserver/internal/lua"

	"lockserver/commands"
	"lockserver/internal/decimal"
	"lockserver/internal/luavm"
	"lockserver/internal/resp"
)

// The conversion of values between Redis and Lua, by the rules of Redis. A reply is read from the bytes that
// the command has written, in the protocol version that the script has chosen (redis.setresp). A script's
// result is written in the client's version.

// replyReader converts a reply to Lua's values. The server itself has written the reply, so it is complete.
type replyReader struct {
	state *lua.LState
	buf   []byte
}

// line returns the next line without its end.
func (r *replyReader) line() []byte {
	end := bytes.IndexByte(r.buf, '\r')
	line := r.buf[:end]
	r.buf = r.buf[end+2:]
	return line
}

// count returns the number in the rest of the line.
func (r *replyReader) count() int {
	n, i := 0, 0
	negative := r.buf[0] == '-'
	if negative {
		i++
	}
	for ; r.buf[i] != '\r'; i++ {
		n = n*10 + int(r.buf[i]-'0')
	}
	r.buf = r.buf[i+2:]
	if negative {
		return -n
	}
	return n
}

// text returns n bytes and skips the line end after them. It copies, because the buffer is reused.
func (r *replyReader) text(n int) string {
	s := string(r.buf[:n])
	r.buf = r.buf[n+2:]
	return s
}

// value returns the next value. A missing value is false in version 2 and nil in version 3.
func (r *replyReader) value() lua.Value {
	kind := r.buf[0]
	r.buf = r.buf[1:]
	switch kind {
	case '$':
		if n := r.count(); n >= 0 {
			return lua.String(r.text(n))
		}
		return lua.Bool(false)
	case ':':
		return lua.Int(r.count())
	case '*', '>':
		return r.array()
	case '+':
		return r.single("ok", lua.String(string(r.line())))
	case '-':
		return lua.Table(r.failure(string(r.line())))
	case '_':
		r.line()
		return lua.Nil
	case '#':
		return lua.Bool(r.line()[0] == 't')
	case ',':
		f, _ := strconv.ParseFloat(string(r.line()), 64) // the server wrote it
		return r.single("double", lua.Number(f))
	case '(':
		return r.single("big_number", lua.String(string(r.line())))
	case '=':
		return r.verbatim()
	case '%':
		return r.pairs()
	case '~':
		return r.set()
	case '|': // attributes describe the value after them, which is the reply
		for range 2 * r.count() {
			r.value()
		}
		return r.value()
	}
	panic("script: a command has written a reply of type " + strconv.Quote(string(kind)))
}

func (r *replyReader) single(field string, v lua.Value) lua.Value {
	t := r.state.CreateTable(0, 1)
	t.SetField(field, v)
	return lua.Table(t)
}

func (r *replyReader) array() lua.Value {
	n := r.count()
	if n < 0 {
		return lua.Bool(false)
	}
	t := r.state.CreateTable(n, 0)
	for i := range n {
		t.SetItem(i+1, r.value())
	}
	return lua.Table(t)
}

// pairs returns a map: {map = {key = value, ...}}. It leaves out a key that Lua cannot have, which no command
// writes. The table grows as it does in Redis, so that a loop over it has the same order.
func (r *replyReader) pairs() lua.Value {
	n := r.count()
	inner := r.state.CreateTable(0, 0)
	for range n {
		key, v := r.value(), r.value()
		if !key.IsNil() {
			inner.Put(key, v)
		}
	}
	return r.single("map", lua.Table(inner))
}

// set returns a set: {set = {member = true, ...}}.
func (r *replyReader) set() lua.Value {
	n := r.count()
	inner := r.state.CreateTable(0, 0)
	for range n {
		if key := r.value(); !key.IsNil() {
			inner.Put(key, lua.Bool(true))
		}
	}
	return r.single("set", lua.Table(inner))
}

func (r *replyReader) verbatim() lua.Value {
	whole := r.text(r.count())
	inner := r.state.CreateTable(0, 2)
	inner.SetField("string", lua.String(whole[4:]))
	inner.SetField("format", lua.String(whole[:3]))
	return r.single("verbatim_string", lua.Table(inner))
}

// failure returns an error in the form for scripts.
func (r *replyReader) failure(text string) *lua.LTable { return errorTable(r.state, text) }

// countedField is the field of an error that says that it was counted already, as in Redis.
const countedField = "ignore_error_stats_update"

// errorTable returns the error of a call in the form for scripts; text begins with its code word.
func errorTable(state *lua.LState, text string) *lua.LTable {
	t := state.CreateTable(0, 3)
	t.RawSetString("err", lua.LString(text))
	t.RawSetString(countedField, lua.LTrue)
	return t
}

// isCounted reports whether an error is the error of a call, and was therefore counted.
func isCounted(failure *lua.LTable) bool { return failure.RawGetString(countedField) == lua.LTrue }

// deepestReply limits the nesting of a value that a script returns, in places on the Lua stack of Redis. An
// array takes one place, a map or a set three, and the key of a map one more.
const deepestReply = 7994

// replyWriter writes the result of a script.
type replyWriter struct {
	out   *resp.Writer
	proto int // the protocol version that the script has chosen; it decides how true and false are written
	host  Caller
	row   *commands.Row // of the command that ran the script
	// failed says that the row's command already counts as failed.
	failed bool
}

// error writes an error. counted says that it is the error of a call, and was therefore counted.
func (w *replyWriter) error(text string, counted bool) {
	w.out.Error(text)
	if !counted {
		w.host.CountError(text)
	}
	if counted || !w.failed {
		w.host.CountFailed(w.row)
	}
	w.failed = w.failed || !counted
}

// value writes a value at a nesting depth.
func (w *replyWriter) value(v lua.Value, depth int) {
	out, proto := w.out, w.proto
	if depth > deepestReply {
		w.error(string(commands.ErrReplyDepth), false)
		return
	}
	switch v.Type() {
	case lua.LTString:
		text, _ := v.AsString()
		out.BulkString(text)
	case lua.LTNumber:
		number, _ := v.AsNumber()
		out.Int(truncate(number))
	case lua.LTBool:
		switch {
		case proto >= 3:
			out.Bool(v.IsTrue())
		case v.IsTrue():
			out.Int(1)
		default:
			out.Null()
		}
	case lua.LTTable:
		w.table(v.AsTable(), depth)
	default:
		out.Null()
	}
}

// truncate converts a double as C does to a long long: towards zero, and numbers out of range become the
// smallest.
func truncate(f float64) int64 {
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	return math.MinInt64
}

// table writes a table that represents another type, or an array up to its first nil.
func (w *replyWriter) table(t *lua.LTable, depth int) {
	out := w.out
	if text, ok := t.Field("err").AsString(); ok {
		w.error(untilZero(text), isCounted(t))
		return
	}
	if text, ok := t.Field("ok").AsString(); ok {
		out.Simple(untilZero(text))
		return
	}
	if n, ok := t.Field("double").AsNumber(); ok {
		out.Double(n)
		return
	}
	if digits, ok := t.Field("big_number").AsString(); ok {
		out.BigNumber(oneLine(digits))
		return
	}
	if inner := t.Field("verbatim_string").AsTable(); inner != nil {
		format, hasFormat := inner.Field("format").AsString()
		text, hasText := inner.Field("string").AsString()
		if hasFormat && hasText {
			out.Verbatim((untilZero(format) + "   ")[:3], text)
			return
		}
	}
	if inner := t.Field("map").AsTable(); inner != nil {
		d, n := out.DeferMap(), 0
		inner.Each(func(key, v lua.Value) bool {
			w.value(key, depth+4)
			w.value(v, depth+3)
			n++
			return true
		})
		out.SetMap(d, n)
		return
	}
	if inner := t.Field("set").AsTable(); inner != nil {
		d, n := out.DeferSet(), 0
		inner.Each(func(key, _ lua.Value) bool {
			w.value(key, depth+3)
			n++
			return true
		})
		out.SetSet(d, n)
		return
	}
	d, n := out.DeferArray(), 0
	for {
		v := t.Item(n + 1)
		if v.IsNil() {
			break
		}
		w.value(v, depth+1)
		n++
	}
	out.SetArray(d, n)
}

// untilZero cuts a text at its first zero byte, as C does.
func untilZero(s string) string {
	for i := range len(s) {
		if s[i] == 0 {
			return s[:i]
		}
	}
	return s
}

// oneLine replaces line breaks by spaces.
func oneLine(s string) string {
	if !bytes.ContainsAny(viewText(s), "\r\n") {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c == '\r' || c == '\n' {
			b[i] = ' '
		}
	}
	return string(b)
}

// viewText returns the bytes of a text without a copy, as an argument of a called command. They must not be
// changed.
func viewText(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// appendNumber appends a number in the form of a command's argument: an integer if it is integral, even -0.
func appendNumber(dst []byte, f float64) []byte {
	if n, ok := decimal.WholeNumber(f); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	if math.IsNaN(f) && math.Signbit(f) {
		return append(dst, "-nan"...)
	}
	return resp.AppendDouble(dst, f)
}

// luaText returns the text of a string or a number.
func luaText(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return luavm.FormatNumber(float64(v)), true
	}
	return "", false
}

// luaNumber returns a number, or the number that a string spells; 0 for any other value.
func luaNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LString:
		return resp.ParseFloat(bytes.TrimSpace(viewText(string(v))))
	case lua.LNumber:
		return float64(v), true
	}
	return 0, false
}
