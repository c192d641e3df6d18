package server

import (
	"crypto/sha1"
	"fmt"
	"testing"

	"lockserver/internal/resp"
)

// BenchmarkScript runs scripts by EVALSHA as the event loop does, a pipeline of 16
// at a time, without a socket.
func BenchmarkScript(b *testing.B) {
	for _, bench := range []struct {
		name, body string
		args       []string
	}{
		{"nothing", "return 1", []string{"0"}},
		{"get", "return redis.call('get', KEYS[1])", []string{"1", "key"}},
		{"lock", `if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
return redis.call('pttl', KEYS[1])`, []string{"1", "lock", "30000", "5b1f0d6e-7a94-4c0b-9a3e-2f6f4f0c8d11:57"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := toNowhere(b)
			var scratch batch
			s.Feed(resp.AppendCommand(nil, []byte("SET"), []byte("key"), []byte("k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo")), &scratch, nil)
			s.Feed(resp.AppendCommand(nil, []byte("SCRIPT"), []byte("LOAD"), []byte(bench.body)), &scratch, nil)
			words := [][]byte{[]byte("EVALSHA"), fmt.Appendf(nil, "%x", sha1.Sum([]byte(bench.body)))}
			for _, arg := range bench.args {
				words = append(words, []byte(arg))
			}
			var pipeline []byte
			for range 16 {
				pipeline = resp.AppendCommand(pipeline, words...)
			}
			b.ReportAllocs()
			for n := 0; n < b.N; n += 16 {
				s.Feed(pipeline, &scratch, nil)
			}
		})
	}
}
