package luavm

import "strings"

// pieces holds the full buffers of a text that is being built. A single growing buffer would leave its former
// arrays to the collector, which together are several times as long as the text.
type pieces struct {
	full   [][]byte
	length int // length of all pieces
}

// pieceBytes is the size of a new buffer, and pieceFull the length at which it counts as full: so a single
// append always fits.
const (
	pieceBytes = maxScratch
	pieceFull  = pieceBytes * 3 / 4
)

// next stores a full buffer, and returns an empty buffer.
func (p *pieces) next(buffer []byte) []byte {
	p.full = append(p.full, buffer)
	p.length += len(buffer)
	return make([]byte, 0, pieceBytes)
}

// text returns the whole text; buffer is its end.
func (p *pieces) text(buffer []byte) string {
	if p.full == nil {
		return string(buffer)
	}
	var whole strings.Builder
	whole.Grow(p.length + len(buffer))
	for _, piece := range p.full {
		whole.Write(piece)
	}
	whole.Write(buffer)
	return whole.String()
}
