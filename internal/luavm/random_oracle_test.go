//go:build oracle

package luavm_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/internal/luavm"
	"lockserver/tests/testkit"
)

// randomSeed is constant by default: with a new seed, a difference says nothing about the change under test.
var randomSeed = flag.Int64("random-seed", 1, "of the random scripts and library calls")

// pick makes a text of up to count of the parts.
func pick(random *rand.Rand, count int, parts ...string) string {
	var text strings.Builder
	for range 1 + random.Intn(count) {
		text.WriteString(parts[random.Intn(len(parts))])
	}
	return text.String()
}

// randomNumber is a number as a script writes it.
func randomNumber(random *rand.Rand) string {
	switch random.Intn(6) {
	case 0:
		return strconv.Itoa(random.Intn(2000) - 1000)
	case 1:
		return strconv.FormatFloat(random.NormFloat64()*math.Pow(10, float64(random.Intn(40)-20)), 'g', -1, 64)
	case 2:
		return strconv.FormatInt(random.Int63()-random.Int63(), 10)
	case 3:
		return []string{"1/0", "-1/0", "2^53", "2^63", "-2^63", "2^64", "1e308", "5e-324", "2^31", "-2^31", "0.5", "1.5", "2.5"}[random.Intn(13)]
	case 4:
		return strconv.FormatFloat(float64(random.Intn(100000))/1000, 'f', -1, 64)
	default:
		return strconv.FormatFloat(math.Ldexp(random.Float64(), random.Intn(100)-50), 'e', -1, 64)
	}
}

// libraryCall returns a call of a library function with arguments that are often valid.
func libraryCall(random *rand.Rand) string {
	number := func() string { return randomNumber(random) }
	quoted := func(text string) string { return strconv.Quote(text) }
	switch random.Intn(12) {
	case 0:
		return fmt.Sprintf("string.format('%%%s%s', %s)", pick(random, 2, "", "-", "+", " ", "#", "0", "5", "12", ".3", ".0", ".10"),
			pick(random, 1, "d", "i", "u", "x", "X", "o", "e", "E", "f", "g", "G", "s", "c", "q"), number())
	case 1:
		return fmt.Sprintf("tostring(%s), %s .. '', %s %% %s, %s %% %s", number(), number(), number(), number(), number(), number())
	case 2:
		return fmt.Sprintf("tonumber(%s), tonumber(%s, %d)", quoted(pick(random, 5, "0", "1", "9", "x", "e", ".", "-", "+", " ", "f", "p", "inf", "nan")),
			quoted(pick(random, 4, "0", "1", "7", "a", "z", "-", "0x", " ")), 2+random.Intn(35))
	case 3, 4:
		pattern := pick(random, 6, "a", "b", ".", "%a", "%d", "%s", "[ab]", "[^a]", "[%w_]", "*", "+", "-", "?", "(", ")", "()", "%1", "$", "^", "%b()", "%f[%a]", "[a-c]", "%")
		function := pick(random, 1, "find", "match", "gsub")
		return fmt.Sprintf("string.%s('ab (ba) 12_c aab', %s, %s)", function, quoted(pattern), []string{"'%0'", "'x'", "'%1%%'", "3", "-2"}[random.Intn(5)])
	case 5:
		return fmt.Sprintf("cjson.decode(%s)", quoted(pick(random, 8, "[", "]", "{", "}", ":", ",", "1", "\"a\"", "null", "true", " ", "-", "1e2", "nan", "\\u0041", "\"")))
	case 6:
		return fmt.Sprintf("cjson.encode({%s, %s, {x = %s}}), cjson.encode(cjson.decode(cjson.encode(%s == %s)))", "1", quoted(pick(random, 5, "a", "\n", "\"", "é", "/")), "1.5", number(), number())
	case 7:
		return fmt.Sprintf("cmsgpack.pack(%s, %s), cmsgpack.unpack(cmsgpack.pack(%s))", number(), quoted(strings.Repeat("x", random.Intn(300))), number())
	case 8:
		return fmt.Sprintf("cmsgpack.unpack(%s)", "'"+pick(random, 6, `\1`, `\129`, `\146`, `\161a`, `\192`, `\195`, `\202`, `\204`, `\208`, `\217\1`, `\220\0`, `\0`, `\255`)+"'")
	case 9:
		format := pick(random, 5, "b", "B", "h", "H", "i", "I", "l", "L", "i2", "i8", "<", ">", "!", "!4", "d", "f", "x", " ")
		return fmt.Sprintf("struct.pack(%s, 1, 2, 3, 4, 5, 6), struct.size(%s), struct.unpack(%s, ('abcdefgh'):rep(6))", quoted(format), quoted(format), quoted(format))
	case 10:
		return fmt.Sprintf("bit.%s(%s, %d)", pick(random, 1, "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "tohex", "bnot", "bswap", "tobit"), strconv.Itoa(random.Intn(1<<31)-1<<30), random.Intn(40)-5)
	default:
		return fmt.Sprintf("('hello world'):sub(%d, %d), ('hello'):byte(%d, %d), ('ab'):rep(%d), math.floor(%s), math.fmod(%s, 7), select(%d, 1, 2, 3)",
			random.Intn(30)-15, random.Intn(30)-15, random.Intn(12)-6, random.Intn(12)-6, random.Intn(5)-1, number(), number(), 1+random.Intn(4))
	}
}

// TestLibrariesOracle calls library functions here and in a real Redis with random arguments.
func TestLibrariesOracle(t *testing.T) {
	client := testkit.StartRedis(t).Client(t)
	t.Log("seed", *randomSeed)
	random := rand.New(rand.NewSource(*randomSeed))
	runner, err := luavm.Compile("user_script", []byte(corpusRunner))
	require.NoError(t, err)
	state := luavm.NewState(luavm.Options{})
	defer state.Close()
	failures := 0
	for range 5000 {
		script := "return " + libraryCall(random)
		state.SetArrays(nil, [][]byte{[]byte(script)})
		value, err := state.Run(runner)
		require.NoError(t, err, script)
		if got, want := value.String(), client.Do("EVAL", corpusRunner, "0", script).Str; got != want {
			t.Errorf("%s\ngot  %s\nwant %s", script, got, want)
			if failures++; failures == 20 {
				return
			}
		}
	}
}
