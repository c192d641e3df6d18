package commands

import (
	"strconv"

	"lockserver/internal/glob"
	"lockserver/internal/resp"
)

// containerScan is what HSCAN and SSCAN have in common: the options behind the cursor, and the reply.
type containerScan struct {
	pattern  []byte
	filtered bool // only what matches the pattern
	count    int
	noValues bool
}

// containerScanOptions reads what follows the cursor. The commands call it only when they have found the key:
// for a missing one Redis does not look at the options.
func containerScanOptions(a *Scanner) (s containerScan, err error) {
	s.count = scanDefaultCount
	for a.More() {
		switch scanOption(a) {
		case "MATCH":
			s.pattern = a.Bytes()
			// Redis does not match "*", which so lets the empty string pass that the pattern would not.
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

// scanOption reads an option; one that only HSCAN has gets an error of its own from the others.
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

// passes reports whether an element is asked for.
func (s *containerScan) passes(element []byte) bool {
	return !s.filtered || glob.Match(s.pattern, element, false)
}

// finishScan completes the reply to a scan: n values have been written since mark, and the cursor, which
// belongs before them, is known only now. What has been written is moved behind it.
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
