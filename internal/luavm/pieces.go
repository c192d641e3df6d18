package luavm

import "strings"

// pieces are the beginning of a text that is being made: buffers that are full. A single buffer that grows
// leaves its former arrays to the collector, which together are several times as long as the text.
type pieces struct {
	full   [][]byte
	length int // of all of them
}

// pieceBytes is the size of a new buffer, and pieceFull the length at which it is full: what is appended in
// one go has space.
const (
	pieceBytes = maxScratch
	pieceFull  = pieceBytes * 3 / 4
)

// next takes a buffer that is full, and returns an empty one.
func (p *pieces) next(buffer []byte) []byte {
	p.full = append(p.full, buffer)
	p.length += len(buffer)
	return make([]byte, 0, pieceBytes)
}

// text is the whole text, which ends with what is in the buffer.
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
