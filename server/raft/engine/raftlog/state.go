package raftlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"maps"
	"slices"

	hraft "github.com/hashicorp/raft"
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, checksums) }

// The format of values, do not change. They are sorted by their keys. Each has 4 bytes with the length of the
// key, 4 with that of the value, the key and the value.

func encodeValues(values map[string][]byte) (text []byte) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text = binary.LittleEndian.AppendUint32(text, uint32(len(key)))
		text = binary.LittleEndian.AppendUint32(text, uint32(len(values[key])))
		text = append(append(text, key...), values[key]...)
	}
	return text
}

func decodeValues(text []byte) (map[string][]byte, error) {
	values := map[string][]byte{}
	for len(text) > 0 {
		if len(text) < 8 {
			return nil, errors.New("a value is cut off")
		}
		key, value := uint64(binary.LittleEndian.Uint32(text)), uint64(binary.LittleEndian.Uint32(text[4:]))
		if text = text[8:]; uint64(len(text)) < key+value {
			return nil, errors.New("a value is cut off")
		}
		values[string(text[:key])] = slices.Clone(text[key : key+value])
		text = text[key+value:]
	}
	return values, nil
}

var _ hraft.StableStore = (*Log)(nil)

// Set implements hraft.StableStore. The value is on the disk when it returns.
func (l *Log) Set(key, value []byte) error {
	l.valuesMu.Lock()
	defer l.valuesMu.Unlock()
	if l.closed.Load() {
		return ErrClosed
	}
	next := maps.Clone(l.values)
	if next[string(key)] = slices.Clone(value); len(value) == 0 {
		delete(next, string(key))
	}
	return l.setAll(next)
}

// SetAll sets all values at once.
func (l *Log) SetAll(values map[string][]byte) error {
	l.valuesMu.Lock()
	defer l.valuesMu.Unlock()
	return l.setAll(maps.Clone(values))
}

// setAll sets all values. Under valuesMu.
func (l *Log) setAll(next map[string][]byte) error {
	if err := l.state.putBoth(encodeValues(next)); err != nil {
		return err
	}
	l.published.Store(&next)
	l.values = next
	return nil
}

// Get implements hraft.StableStore. A key without a value has an empty one.
func (l *Log) Get(key []byte) ([]byte, error) {
	return slices.Clone((*l.published.Load())[string(key)]), nil
}

// SetUint64 implements hraft.StableStore.
func (l *Log) SetUint64(key []byte, value uint64) error {
	return l.Set(key, binary.LittleEndian.AppendUint64(nil, value))
}

// GetUint64 implements hraft.StableStore. A key without a value has 0.
func (l *Log) GetUint64(key []byte) (uint64, error) {
	is := (*l.published.Load())[string(key)]
	if len(is) != 8 {
		return 0, nil
	}
	return binary.LittleEndian.Uint64(is), nil
}
