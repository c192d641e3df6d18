package inspect

import (
	"bytes"
	"io"
	"sync"
)

// pipe is a terminal's side of a program: the test writes, the program reads, and String returns all that was
// written.
type pipe struct {
	r   *io.PipeReader
	w   *io.PipeWriter
	mu  sync.Mutex
	all bytes.Buffer
}

func newPipe() *pipe {
	r, w := io.Pipe()
	return &pipe{r: r, w: w}
}

func (p *pipe) Read(b []byte) (int, error) { return p.r.Read(b) }

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.Write(b)
}

func (p *pipe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.String()
}

func (p *pipe) write(keys string) { _, _ = io.WriteString(p.w, keys) }
