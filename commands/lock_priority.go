package commands

import "lockserver/internal/waiting"

// priority is the option PRIORITY of LOCK, MLOCK and SEM.ACQUIRE: the place among the calls that wait.
type priority struct {
	level uint8 // below waiting.Levels; 0 without the option
	named bool  // the call has the option, so it must wait
}

// read reads the number behind the word.
func (p *priority) read(a *Scanner) {
	if p.named {
		a.Syntax()
	}
	n := a.IntOr(ErrPriority)
	if n < 0 || n >= waiting.Levels {
		a.Fail(ErrPriority)
	}
	p.named, p.level = true, uint8(n)
}
