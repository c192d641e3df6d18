package store

import (
	"lockserver/store/cow"
	"lockserver/store/hash"
	"lockserver/store/set"
	"lockserver/store/zset"
)

// containers holds what all containers of a store share.
type containers struct {
	limits Limits
	values *cow.Epoch // the clock of the values: cuts share it with undo
	hashes *hash.Common
	sets   *set.Common
	zsets  *zset.Common
}

// own makes the container at key writable. If a cut still reads its header, a clone replaces it.
func (v *value) own(s *containers, key []byte) {
	switch v.tag() {
	case Hash:
		if s.values.Shared(v.hash().Stamp()) {
			v.setHash(v.hash().Clone(s.hashes, key))
		}
	case Set:
		if s.values.Shared(v.set().Stamp()) {
			v.setSet(v.set().Clone(s.sets, key))
		}
	case List:
		if s.values.Shared(v.list().Stamp()) {
			v.setList(v.list().Clone(s.values, key))
		}
	case ZSet:
		if s.values.Shared(v.zset().Stamp()) {
			v.setZSet(v.zset().Clone(s.zsets, key))
		}
	case Stream:
		if s.values.Shared(v.stream().Stamp()) {
			v.setStream(v.stream().Clone())
		}
	case Bloom:
		if s.values.Shared(v.bloom().Stamp()) {
			v.setBloom(v.bloom().Clone())
		}
	}
}

// copy returns a copy of the value for key. The two share no memory that is ever written to.
func (v *value) copy(s *containers, key []byte) (c value) {
	switch v.tag() {
	case String:
		c.ptr, c.meta = v.ptr, v.meta
		if isShared(v.bytes()) {
			c.retag(unshared)
		}
	case text, unshared:
		c.ptr, c.meta = v.ptr, v.meta
	case state:
		c.setString(append([]byte(nil), v.bytes()...))
	case buffer:
		c.setBuffer(&growable{b: append([]byte(nil), v.bytes()...), stamp: s.values.Now()})
	case Hash:
		c.setHash(v.hash().Copy(s.hashes, key, s.limits.Hash))
	case Set:
		c.setSet(v.set().Copy(s.sets, key))
	case List:
		c.setList(v.list().Copy(s.values, key))
	case ZSet:
		c.setZSet(v.zset().Copy(s.zsets, key))
	case Stream:
		c.setStream(v.stream().Copy())
	case Bloom:
		c.setBloom(v.bloom().Copy())
	}
	return c
}
