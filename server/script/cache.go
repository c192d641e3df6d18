package script

import (
	"crypto/sha1"
	"encoding/hex"

	"lockserver/internal/luavm"
)

const (
	// maxEvictableScripts and maxEvictableBytes limit the scripts that EVAL caches, as in Redis from version
	// 7.4 on. The script with the oldest last call is removed first. Scripts of SCRIPT LOAD stay.
	maxEvictableScripts = 500
	maxEvictableBytes   = 16 << 20
	// shaBytes is the length of a script's name.
	shaBytes = 2 * sha1.Size
	// About the size of a compiled script; its code is about as large as its text again. TestMemory measures
	// it.
	compiledBytes = 640
)

// scriptBytes returns about the memory of a script with a text of this length.
func scriptBytes(text int) int { return compiledBytes + 2*text }

// cachedScript is a compiled script.
type cachedScript struct {
	sha   string // of its body: 40 hexadecimal digits in lower case
	body  string
	flags flagSet
	code  *luavm.Proto
	// evictable scripts came with EVAL; they are in the list of cache, which prev and next link.
	evictable  bool
	prev, next *cachedScript
}

// cache holds all known scripts: by body for EVAL, which need not hash a known body, and by name for EVALSHA.
// It may only be used under the host's lock.
type cache struct {
	byBody, bySHA map[string]*cachedScript
	// first is the evictable script with the oldest last call.
	first, last    *cachedScript
	evictable      int
	evictableBytes int
	bytes          int   // about the memory of all scripts
	evicted        int64 // number of scripts removed because of the limits
}

func newCache() cache {
	return cache{byBody: map[string]*cachedScript{}, bySHA: map[string]*cachedScript{}}
}

// shaText returns the name of a script: its SHA-1 in hexadecimal digits.
func shaText(body []byte) string {
	sum := sha1.Sum(body)
	return hex.EncodeToString(sum[:])
}

// find returns the script with a name, in any case, or nil.
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

// add adds a compiled script.
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

// pin protects a script from removal.
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
