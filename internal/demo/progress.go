package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	barWidth = 24 // a line fits a terminal of 80 columns
	redraw   = 50 * time.Millisecond
)

// progress shows the progress of one stage after the other: either a terminal line that is redrawn, or a line
// for about each quarter.
type progress struct {
	mu   sync.Mutex
	out  io.Writer
	live bool
	open bool // the cursor is behind a line that will be redrawn
}

// stage is one part of the sale with its own progress line.
type stage struct {
	label  string
	total  int
	done   func() int
	detail func() string // the text behind the bar
}

// watch shows a stage until the caller calls end, which shows the final state.
func (p *progress) watch(s stage) (end func()) {
	stop := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		shown := 0 // quarters
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			done := s.done()
			quarter := 4 * done / s.total
			if p.live || quarter > shown && quarter < 4 {
				p.draw(s, done, false)
			}
			shown = max(shown, quarter)
		}
	})
	return func() {
		close(stop)
		drawing.Wait()
		p.draw(s, s.done(), true)
	}
}

// draw shows a stage. last ends the line.
func (p *progress) draw(s stage, done int, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := min(100*done/s.total, 100)
	if !p.live {
		fmt.Fprintf(p.out, "%-9s %3d %%  %s\n", s.label, percent, s.detail())
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K%-9s %s %3d %%  %s", s.label, bar(done, s.total), percent, s.detail())
	if p.open = !last; last {
		fmt.Fprintln(p.out)
	}
}

// say prints a separate line.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.open = false
	}
	fmt.Fprintf(p.out, format+"\n", args...)
}

// bar draws the finished part of the whole.
func bar(done, total int) string {
	full := min(barWidth*done/total, barWidth)
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}
