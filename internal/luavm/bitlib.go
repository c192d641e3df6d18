package luavm

import (
	"math"
	"math/bits"
	"strings"

	"lockserver/internal/lua"
)

// bitLibrary is the table bit: Mike Pall's BitOp, operations on 32 bits with signed results.
func bitLibrary() library {
	return library{
		"tobit":   func(L *lua.LState) int { return pushBits(L, checkBits(L, 1)) },
		"bnot":    func(L *lua.LState) int { return pushBits(L, ^checkBits(L, 1)) },
		"bswap":   func(L *lua.LState) int { return pushBits(L, bits.ReverseBytes32(checkBits(L, 1))) },
		"band":    foldBits(func(a, b uint32) uint32 { return a & b }),
		"bor":     foldBits(func(a, b uint32) uint32 { return a | b }),
		"bxor":    foldBits(func(a, b uint32) uint32 { return a ^ b }),
		"lshift":  shiftBits(func(a uint32, n int) uint32 { return a << n }),
		"rshift":  shiftBits(func(a uint32, n int) uint32 { return a >> n }),
		"arshift": shiftBits(func(a uint32, n int) uint32 { return uint32(int32(a) >> n) }),
		"rol":     shiftBits(bits.RotateLeft32),
		"ror":     shiftBits(func(a uint32, n int) uint32 { return bits.RotateLeft32(a, -n) }),
		"tohex":   bitToHex,
	}
}

// checkBits returns the lowest 32 bits of a number argument, rounded to the nearest even integer. Adding 2^52
// + 2^51 leaves them in the lowest bits of the sum.
func checkBits(L *lua.LState, argument int) uint32 {
	return uint32(math.Float64bits(checkNumber(L, argument) + 6755399441055744.0))
}

func pushBits(L *lua.LState, value uint32) int {
	L.PushNumber(float64(int32(value)))
	return 1
}

func foldBits(fn func(a, b uint32) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		value := checkBits(L, 1)
		for i := 2; i <= L.GetTop(); i++ {
			value = fn(value, checkBits(L, i))
		}
		return pushBits(L, value)
	}
}

func shiftBits(fn func(a uint32, n int) uint32) lua.LGFunction {
	return func(L *lua.LState) int {
		value := checkBits(L, 1)
		return pushBits(L, fn(value, int(checkBits(L, 2)&31)))
	}
}

func bitToHex(L *lua.LState) int {
	value := checkBits(L, 1)
	count := int32(8)
	if L.GetTop() >= 2 {
		count = int32(checkBits(L, 2))
	}
	digits := "0123456789abcdef"
	if count < 0 {
		digits = strings.ToUpper(digits)
		count = -count
	}
	if count > 8 || count < 0 {
		count = 8
	}
	text := make([]byte, count)
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = digits[value&15]
		value >>= 4
	}
	return pushString(L, string(text))
}
