package commands

import (
	"strconv"

	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

// containerScan is the common part of HSCAN and SSCAN: the options after the cursor, and the reply.
type containerScan struct {
	pattern  []byte
	filtered bool // only what matches the pattern
	count    int
	noValues bool
}

// containerScanOptions reads the options after the cursor. The commands call it only when the key exists: for
// a missing key Redis does not check the options.
func containerScanOptions(a *Scanner) (s containerScan, err error) {
	s.count = scanDefaultCount
	for a.More() {
		switch scanOption(a) {
		case "MATCH":
			s.pattern = a.Bytes()
			// Redis does not apply the pattern "*". So the empty string passes, although the pattern would
			// not match it.
			s.filtered = string(s.pattern) != "*"
		case "COUNT":
			n := a.Int()
			if n < 1 {
				a.Syntax()
			}
			s.count = int(n)
		case "NOVALUES":
			s.noValues = true
		}
	}
	return s, a.Err()
}

// scanOption reads an option. An option that only HSCAN has gets its own error from the other commands.
func scanOption(a *Scanner) string {
	w := a.MaybeOption()
	switch {
	case w != "":
	case a.IsNext("NOVALUES"):
		a.Fail(ErrScanNoValues)
	default:
		a.Syntax()
	}
	return w
}

// passes reports whether an element is to be in the reply.
func (s *containerScan) passes(element []byte) bool {
	return !s.filtered || glob.Match(s.pattern, element, false)
}

// finishScan completes the reply to a scan. n values have been written since mark. The cursor comes before
// them, but is known only now, so the values are moved.
func finishScan(out *resp.Writer, mark int, cursor uint64, n int) {
	end := out.Len()
	var text [20]byte
	var buf [64]byte
	head := resp.Writer{Buf: buf[:0], Proto: out.Proto}
	head.Array(2)
	head.Bulk(strconv.AppendUint(text[:0], cursor, 10))
	head.Array(n)
	out.Raw(head.Buf) // reserves the bytes; the copy below overwrites it
	copy(out.Buf[mark+head.Len():], out.Buf[mark:end])
	copy(out.Buf[mark:], head.Buf)
}

// emptyScan writes the reply to the scan of a missing key.
func emptyScan(out *resp.Writer) { finishScan(out, out.Mark(), 0, 0) }
