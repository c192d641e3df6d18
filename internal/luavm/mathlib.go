package luavm

import (
	"math"

	"lockserver/internal/lua"
)

// mathLibrary is the table math.
func mathLibrary() library {
	functions := library{
		"atan2":      onTwo(math.Atan2),
		"fmod":       onTwo(remainder),
		"frexp":      mathFrexp,
		"ldexp":      mathLdexp,
		"max":        mathMax,
		"min":        mathMin,
		"mod":        onTwo(remainder),
		"modf":       mathModf,
		"pow":        onTwo(lua.Power),
		"random":     mathRandom,
		"randomseed": mathRandomSeed,
	}
	for name, fn := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil,
		"cosh": math.Cosh, "exp": math.Exp, "floor": math.Floor, "log10": math.Log10, "sinh": math.Sinh,
		"sqrt": math.Sqrt, "tanh": math.Tanh,
		"cos": signed(math.Cos), "log": signed(math.Log), "sin": signed(math.Sin), "tan": signed(math.Tan),
		"deg": func(x float64) float64 { return x / (math.Pi / 180) },
		"rad": func(x float64) float64 { return x * (math.Pi / 180) },
	} {
		functions[name] = onOne(fn)
	}
	return functions
}

func onOne(fn func(float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		L.PushNumber(fn(checkNumber(L, 1)))
		return 1
	}
}

// signed gives a NaN result the sign that it has in C.
func signed(fn func(float64) float64) func(float64) float64 {
	return func(x float64) float64 { return lua.Invalid(fn(x), x) }
}

func remainder(a, b float64) float64 { return lua.Invalid(math.Mod(a, b), a, b) }

func onTwo(fn func(a, b float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		a := checkNumber(L, 1)
		L.PushNumber(fn(a, checkNumber(L, 2)))
		return 1
	}
}

func mathFrexp(L *lua.LState) int {
	fraction, exponent := math.Frexp(checkNumber(L, 1))
	L.PushNumber(fraction)
	L.PushInt(exponent)
	return 2
}

func mathLdexp(L *lua.LState) int {
	fraction := checkNumber(L, 1)
	L.PushNumber(math.Ldexp(fraction, int(int32(checkInt(L, 2)))))
	return 1
}

func mathModf(L *lua.LState) int {
	number := checkNumber(L, 1)
	whole, fraction := math.Trunc(number), 0.0
	if math.IsInf(number, 0) {
		fraction = math.Copysign(0, number)
	} else {
		fraction = math.Copysign(number-whole, number)
	}
	L.PushNumber(whole)
	L.PushNumber(fraction)
	return 2
}

func mathMax(L *lua.LState) int {
	best := checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if number := checkNumber(L, i); number > best {
			best = number
		}
	}
	L.PushNumber(best)
	return 1
}

func mathMin(L *lua.LState) int {
	best := checkNumber(L, 1)
	for i := 2; i <= L.GetTop(); i++ {
		if number := checkNumber(L, i); number < best {
			best = number
		}
	}
	L.PushNumber(best)
	return 1
}

// unseeded is the first state of POSIX' lrand48, and of math.random in a new state. Redis does not seed it,
// neither at its start nor, since version 7, before a script.
const unseeded = 0x1234abcd330e

// Seed restarts the sequence of math.random, as POSIX' srand48 does.
func (s *State) Seed(seed int32) { s.random = uint64(uint32(seed))<<16 | 0x330e }

// randomMax is the divisor that Redis uses.
const randomMax = math.MaxInt32

// next is POSIX' lrand48.
func (s *State) next() int64 {
	s.random = (s.random*0x5deece66d + 0xb) & (1<<48 - 1)
	return int64(s.random >> 17)
}

func mathRandom(L *lua.LState) int {
	fraction := float64(FromLua(L).next()%randomMax) / randomMax
	switch L.GetTop() {
	case 0:
		L.PushNumber(fraction)
	case 1:
		upper := int(int32(checkInt(L, 1)))
		if upper < 1 {
			argumentError(L, 1, "interval is empty")
		}
		L.PushNumber(math.Floor(fraction*float64(upper)) + 1)
	case 2:
		lower, upper := int(int32(checkInt(L, 1))), int(int32(checkInt(L, 2)))
		if lower > upper {
			argumentError(L, 2, "interval is empty")
		}
		L.PushNumber(math.Floor(fraction*float64(int32(upper-lower+1))) + float64(lower))
	default:
		fail(L, "wrong number of arguments")
	}
	return 1
}

func mathRandomSeed(L *lua.LState) int {
	FromLua(L).Seed(int32(checkInt(L, 1)))
	return 0
}
