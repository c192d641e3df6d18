package luavm_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"lockserver/internal/lua"

	"lockserver/internal/luavm"
)

// lockScript has the form of the scripts of lock libraries: test, set, expire, or return the time to live.
const lockScript = `
if ((redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1)) then
  redis.call('hincrby', KEYS[1], ARGV[2], 1);
  redis.call('pexpire', KEYS[1], ARGV[1]);
  return nil;
end;
return redis.call('pttl', KEYS[1]);
`

func benchScript(b *testing.B, script string) {
	b.Helper()
	state := luavm.NewState(luavm.Options{
		Hook: func() error { return nil },
		Libraries: func(L *lua.LState) {
			table := L.NewTable()
			table.RawSetString("call", L.NewFunction(func(L *lua.LState) int {
				L.PushNumber(0)
				return 1
			}))
			L.SetGlobal("redis", table)
		},
	})
	defer state.Close()
	proto, err := luavm.Compile("user_script", []byte(script))
	require.NoError(b, err)
	keys, args := [][]byte{[]byte("lock:42")}, [][]byte{[]byte("30000"), []byte("e7a1:17")}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		state.SetArrays(keys, args)
		if _, err := state.Run(proto); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReturnOne(b *testing.B) { benchScript(b, `return 1`) }

func BenchmarkGet(b *testing.B) { benchScript(b, `return redis.call('get', KEYS[1])`) }

func BenchmarkLock(b *testing.B) { benchScript(b, lockScript) }

func BenchmarkLoop(b *testing.B) {
	benchScript(b, `local s = 0 for i = 1, 1000 do s = s + i end return s`)
}

func BenchmarkTable(b *testing.B) {
	benchScript(b, `local t = {} for i = 1, 100 do t[#t + 1] = i end local s = 0 for i = 1, #t do s = s + t[i] end return s`)
}

func BenchmarkConcat(b *testing.B) {
	benchScript(b, `local s = '' for i = 1, 100 do s = s .. i end return s`)
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		if _, err := luavm.Compile("user_script", []byte(lockScript)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewState(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		luavm.NewState(luavm.Options{}).Close()
	}
}
