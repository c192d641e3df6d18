package commands

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"github.com/zeebo/xxh3"

	"lockserver/internal/ascii"
	"lockserver/internal/keyevent"
	"lockserver/store"
)

// digestLen is the length of a digest in hexadecimal digits.
const digestLen = 16

// comparison is a condition on the string at a key: IFEQ and IFNE compare with a value, IFDEQ and IFDNE with
// a digest. The zero value has no condition.
type comparison struct {
	word    string // IFEQ, IFNE, IFDEQ or IFDNE
	operand []byte
}

// holds reports whether val satisfies the comparison. A digest of the wrong length is an error. A digest that
// is not hexadecimal only differs from every digest, as in Redis.
func (m *comparison) holds(val []byte) (bool, error) {
	switch m.word {
	case "IFEQ":
		return bytes.Equal(val, m.operand), nil
	case "IFNE":
		return !bytes.Equal(val, m.operand), nil
	}
	if len(m.operand) != digestLen {
		return false, ErrDigest
	}
	digest := hexDigest(val)
	same := ascii.EqualFold(m.operand, string(digest[:]))
	return same == (m.word == "IFDEQ"), nil
}

// hexDigest returns the XXH3 hash of val, 64 bits without a seed, as lower-case hexadecimal digits with
// leading zeros. Redis 8.4 calls it the digest; clients compute it themselves.
func hexDigest(val []byte) (text [digestLen]byte) {
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], xxh3.Hash(val))
	hex.Encode(text[:], sum[:])
	return text
}

func digestString(c *Ctx) error {
	val, ok, err := c.findString(c.Argv[1])
	switch {
	case err != nil:
		return err
	case !ok:
		c.Out.Null()
	default:
		text := hexDigest(val)
		c.Out.Bulk(text[:])
	}
	return nil
}

// delex checks the number of its words first, and the condition only if there is a string to compare. For a
// missing key it replies 0, even with an invalid condition.
func delex(c *Ctx) error {
	a := c.Args()
	key := a.Key()
	if a.Left() == 0 {
		c.Out.Int(deleted(c, key))
		return nil
	}
	if a.Left() != 2 {
		a.Arity()
		return a.Err()
	}
	r := c.DB.Find(key)
	switch {
	case !r.OK():
		c.Out.Int(0)
		return nil
	case r.Kind() != store.String:
		return ErrDelexType
	}
	m := comparison{word: a.MaybeOption()}
	if m.word == "" {
		return ErrDelexCondition
	}
	m.operand = a.Bytes()
	return deleteIf(c, key, &m, r.Bytes())
}

// delifeq is Valkey's name for DELEX ... IFEQ, with the usual error for another type.
func delifeq(c *Ctx) error {
	key := c.Argv[1]
	val, ok, err := c.findString(key)
	switch {
	case err != nil:
		return err
	case !ok:
		c.Out.Int(0)
		return nil
	}
	return deleteIf(c, key, &comparison{word: "IFEQ", operand: c.Argv[2]}, val)
}

// deleteIf removes key if its value val satisfies the comparison, and replies how many keys it removed.
func deleteIf(c *Ctx, key []byte, m *comparison, val []byte) error {
	ok, err := m.holds(val)
	if err != nil {
		return err
	}
	if !ok {
		c.Out.Int(0)
		return nil
	}
	c.Out.Int(deleted(c, key))
	return nil
}

// deleted removes key and returns how many keys it removed.
func deleted(c *Ctx, key []byte) int64 {
	if c.DB.Delete(key) {
		c.Notify(keyevent.Generic, "del", key)
		return 1
	}
	return 0
}

// delexKeys finds the key of DELEX and its use: with a condition it reads the value.
func delexKeys(args [][]byte, dst []KeyRef) ([]KeyRef, bool) {
	flags := RM | Delete
	if len(args) > 2 && isComparison(args[2]) {
		flags = RW | Delete
	}
	return append(dst, KeyRef{1, flags}), true
}

func isComparison(word []byte) bool {
	for _, w := range [...]string{"IFEQ", "IFNE", "IFDEQ", "IFDNE"} {
		if ascii.EqualFold(word, w) {
			return true
		}
	}
	return false
}

// msetex sets all of its keys or no key.
func msetex(c *Ctx) error {
	a := c.Args()
	pairs := msetexPairs(a)
	var cond string
	var e expiry
	for a.More() {
		switch w := a.Option(); w {
		case "NX", "XX":
			Choose(a, &cond, w)
		case "KEEPTTL":
			Choose(a, &e.unit, w)
		default:
			e.read(a, w)
		}
	}
	if err := a.Err(); err != nil {
		return err
	}
	ttl, err := e.ttl(c)
	if err != nil {
		return err
	}
	for i := 0; cond != "" && i < len(pairs); i += 2 {
		if c.DB.FindToWrite(pairs[i]).OK() != (cond == "XX") {
			c.Out.Int(0)
			return nil
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		c.DB.EditString(pairs[i]).Set(pairs[i+1], ttl)
		c.notifySet(pairs[i], ttl)
	}
	c.Out.Int(1)
	return nil
}

// msetexPairs reads numkeys, and alternately that number of keys and values.
func msetexPairs(a *Scanner) [][]byte {
	n := a.IntOr(ErrNumKeys)
	switch {
	case a.Err() != nil:
		return nil
	case n < 1 || n > maxNumKeys:
		a.Fail(ErrNumKeys)
		return nil
	case 2*n > int64(a.Left()):
		a.Fail(ErrKeyValuePairs)
		return nil
	}
	return a.Take(int(2 * n))
}

// maxNumKeys is the largest numkeys of a call, a limit of Redis.
const maxNumKeys = 1<<31 - 1
