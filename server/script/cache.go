package script

import (
	"crypto/sha1"
	"encoding/hex"

	"lockserver/internal/luavm"
)

const (
	// maxEvictableScripts and maxEvictableBytes bound the scripts that EVAL caches, as in Redis from version
	// 7.4 on. The script with the oldest last call goes first. Scripts of SCRIPT LOAD stay.
	maxEvictableScripts = 500
	maxEvictableBytes   = 16 << 20
	// shaBytes is the length of a script's name.
	shaBytes = 2 * sha1.Size
	// A compiled script takes so much, and its code about as much again as its text. TestMemory measures it.
	compiledBytes = 640
)

// scriptBytes is about what a script with so much text takes.
func scriptBytes(text int) int { return compiledBytes + 2*text }

// cachedScript is a script that has been compiled.
type cachedScript struct {
	sha   string // of its body: 40 hexadecimal digits in lower case
	body  string
	flags flagSet
	code  *luavm.Proto
	// evictable scripts came with EVAL; they stand in the list of cache, which prev and next link.
	evictable  bool
	prev, next *cachedScript
}

// cache is all scripts that are known, by body for EVAL, which need not hash what it has seen before,
// and by name for EVALSHA. It is only touched under the host's lock.
type cache struct {
	byBody, bySHA map[string]*cachedScript
	// first is the evictable script with the oldest last call.
	first, last    *cachedScript
	evictable      int
	evictableBytes int
	bytes          int   // of all together, about
	evicted        int64 // how many have gone because of the bounds
}

func newCache() cache {
	return cache{byBody: map[string]*cachedScript{}, bySHA: map[string]*cachedScript{}}
}

// shaText is the name of a script: its SHA-1 in hexadecimal digits.
func shaText(body []byte) string {
	sum := sha1.Sum(body)
	return hex.EncodeToString(sum[:])
}

// find returns the script of a name, in any case of letters, or nil.
func (c *cache) find(sha []byte) *cachedScript {
	if len(sha) != shaBytes {
		return nil
	}
	var lower [shaBytes]byte
	for i, b := range sha {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		lower[i] = b
	}
	return c.bySHA[string(lower[:])]
}

// add keeps a script that was compiled.
func (c *cache) add(s *cachedScript) {
	c.byBody[s.body], c.bySHA[s.sha] = s, s
	c.bytes += scriptBytes(len(s.body))
	if !s.evictable {
		return
	}
	c.pushBack(s)
	for c.evictable > 1 && (c.evictable > maxEvictableScripts || c.evictableBytes > maxEvictableBytes) {
		old := c.first
		c.evicted++
		c.remove(old)
		delete(c.byBody, old.body)
		delete(c.bySHA, old.sha)
		c.bytes -= scriptBytes(len(old.body))
	}
}

// touch records that a script was called.
func (c *cache) touch(s *cachedScript) {
	if s.evictable && s != c.last {
		c.remove(s)
		c.pushBack(s)
	}
}

// pin makes a script stay.
func (c *cache) pin(s *cachedScript) {
	if s.evictable {
		c.remove(s)
		s.evictable = false
	}
}

func (c *cache) pushBack(s *cachedScript) {
	if s.prev = c.last; s.prev != nil {
		s.prev.next = s
	} else {
		c.first = s
	}
	c.last = s
	c.evictable++
	c.evictableBytes += len(s.body)
}

func (c *cache) remove(s *cachedScript) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		c.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		c.last = s.prev
	}
	s.prev, s.next = nil, nil
	c.evictable--
	c.evictableBytes -= len(s.body)
}
