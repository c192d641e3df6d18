package list

import "lockserver/store/listpack"

// Limits limits the size of a list's listpacks.
type Limits struct {
	// Fill is list-max-listpack-size: a number of elements, or, from -1 to -5, a size (4, 8, 16, 32, 64 KB).
	// A value below -5 means -5, and 0 means one element.
	Fill int
	// Large is the size in bytes from which an element gets a plain node. 0 means the largest size of a node,
	// as in Redis from 7.4 on. Tests set it.
	Large int
}

// DefaultLimits returns Redis' defaults.
func DefaultLimits() Limits { return Limits{Fill: -2} }

const (
	// safeBytes limits a listpack of several elements if the limit is a number of elements.
	safeBytes = 8192
	// maxFill is the largest number of elements that Redis accepts as a limit.
	maxFill = 1<<15 - 1
	// emptyBytes is the size of a listpack without elements.
	emptyBytes = 7
	// overhead is an estimate of an element's bytes besides its content, higher than for most elements. It
	// decides where a node ends, as in Redis.
	overhead = 8
)

// bytes returns the size limit of a listpack with several elements.
func (l Limits) bytes() int {
	if l.Fill >= 0 {
		return safeBytes
	}
	return 2048 << min(-l.Fill, 5)
}

// count returns the element limit of a listpack.
func (l Limits) count() int {
	if l.Fill < 0 {
		return maxFill // more than fit into 64 KB
	}
	return min(max(l.Fill, 1), maxFill)
}

// fits reports whether a listpack of this size and number of elements is within the limit.
func (l Limits) fits(bytes, count int) bool {
	return bytes <= l.bytes() && (l.Fill < 0 || count <= l.count())
}

// isLarge reports whether an element needs a plain node of its own.
func (l Limits) isLarge(element []byte) bool {
	if l.Large == 0 {
		return len(element) > l.bytes()
	}
	return len(element) >= l.Large
}

// takes reports whether a node may have another element.
func (l Limits) takes(n *node, element []byte) bool {
	return !n.plain && !l.isLarge(element) && l.fits(len(n.lp)+len(element)+overhead, n.len()+1)
}

// outgrown reports whether a small list must have nodes when elements are added. Only the bytes of the
// elements count, as from Redis 7.2 on.
func (l Limits) outgrown(lp listpack.List, elements ...[]byte) bool {
	total, count := emptyBytes, len(elements)
	if lp != nil {
		total, count = len(lp), count+lp.Len()
	}
	for _, e := range elements {
		if l.isLarge(e) {
			return true
		}
		total += len(e)
	}
	return !l.fits(total, count)
}
