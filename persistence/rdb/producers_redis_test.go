package rdb

import (
	"bytes"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// streamsOf86 is a snapshot of Redis 8.6.3 (version 13): a stream with two producers and a group, a stream
// without producers, and a string after them.
const streamsOf86 = "testdata/redis-8.6/streams.rdb"

// keysAndProducers reads a whole snapshot, and returns its keys and its producers.
func keysAndProducers(data []byte) (keys []string, producers []Producers, err error) {
	r := NewReader(bytes.NewReader(data), ReaderOptions{Producers: func(_ int, key, value []byte) error {
		p, ok := ParseProducers(bytes.Clone(value))
		if !ok || string(key) != "s" {
			return io.ErrUnexpectedEOF
		}
		producers = append(producers, p)
		return nil
	}})
	for {
		e, err := r.Next()
		if err == io.EOF {
			return keys, producers, nil
		}
		if err != nil {
			return keys, producers, err
		}
		keys = append(keys, string(e.Key))
	}
}

// TestProducersOfRedis: the producers that Redis 8.6 remembers for a stream are read, and then the next keys.
func TestProducersOfRedis(t *testing.T) {
	data, err := os.ReadFile(streamsOf86)
	require.NoError(t, err)
	keys, producers, err := keysAndProducers(data)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"s", "plain", "after"}, keys)
	message := func(producer, name string, ms uint64) Message {
		return Message{Producer: []byte(producer), Name: []byte(name), ID: ID{MS: ms}, AtMS: int64(ms)}
	}
	require.Len(t, producers, 1, "the other stream has never had any")
	p := producers[0]
	require.ElementsMatch(t, []Message{message("prod1", "m1", 1795753717077), message("prod1", "m2", 1795753717141),
		message("p2", "m1", 1795753717195)}, p.Messages)
	p.Messages = nil
	require.Equal(t, Producers{DurationS: 100, MaxSize: 100, Added: 3, Duplicates: 1}, p)
}

// TestDamagedProducersOfRedis: after any truncation or change, the reader reaches an end.
func TestDamagedProducersOfRedis(t *testing.T) {
	data, err := os.ReadFile(streamsOf86)
	require.NoError(t, err)
	for n := range data {
		_, _, err := keysAndProducers(data[:n])
		require.Error(t, err, n)
		changed := bytes.Clone(data)
		changed[n] ^= 0xFF
		_, _, _ = keysAndProducers(changed)
	}
}
