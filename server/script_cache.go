package server

import (
	"crypto/sha1"
	"encoding/hex"
)

const (
	// mostLooseScripts and mostLooseBytes bound what EVAL leaves behind, as Redis does from version 7.4 on:
	// the script whose last call is longest ago goes first. What SCRIPT LOAD has loaded stays.
	mostLooseScripts = 500
	mostLooseBytes   = 16 << 20
	// shaBytes is the length of a script's name.
	shaBytes = 2 * sha1.Size
)

// cachedScript is a script that has been compiled.
type cachedScript struct {
	sha   string // of its body: 40 hexadecimal digits in lower case
	body  string
	flags scriptFlags
	code  scriptCode
	// loose scripts came with EVAL; they stand in scriptCache.loose, which prev and next link.
	loose      bool
	prev, next *cachedScript
}

// scriptCache is all scripts that are known, by body for EVAL, which need not hash what it has seen before,
// and by name for EVALSHA. It is only touched under the executor.
type scriptCache struct {
	byBody, bySHA map[string]*cachedScript
	// first is the loose script whose last call is longest ago.
	first, last *cachedScript
	loose       int
	looseBytes  int
}

func newScriptCache() scriptCache {
	return scriptCache{byBody: map[string]*cachedScript{}, bySHA: map[string]*cachedScript{}}
}

// shaText is the name of a script: its SHA-1 in hexadecimal digits.
func shaText(body []byte) string {
	sum := sha1.Sum(body)
	return hex.EncodeToString(sum[:])
}

// find returns the script of a name, in any case of letters, or nil.
func (c *scriptCache) find(sha []byte) *cachedScript {
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
func (c *scriptCache) add(s *cachedScript) {
	c.byBody[s.body], c.bySHA[s.sha] = s, s
	if !s.loose {
		return
	}
	c.enter(s)
	for c.loose > 1 && (c.loose > mostLooseScripts || c.looseBytes > mostLooseBytes) {
		old := c.first
		c.leave(old)
		delete(c.byBody, old.body)
		delete(c.bySHA, old.sha)
	}
}

// used notes that a script was called.
func (c *scriptCache) used(s *cachedScript) {
	if s.loose && s != c.last {
		c.leave(s)
		c.enter(s)
	}
}

// pin makes a script stay.
func (c *scriptCache) pin(s *cachedScript) {
	if s.loose {
		c.leave(s)
		s.loose = false
	}
}

func (c *scriptCache) enter(s *cachedScript) {
	if s.prev = c.last; s.prev != nil {
		s.prev.next = s
	} else {
		c.first = s
	}
	c.last = s
	c.loose++
	c.looseBytes += len(s.body)
}

func (c *scriptCache) leave(s *cachedScript) {
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
	c.loose--
	c.looseBytes -= len(s.body)
}
