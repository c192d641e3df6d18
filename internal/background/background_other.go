//go:build !linux

package background

import "time"

// Enter does nothing where threads have no priority of their own.
func Enter() {}

// EnterPromptly does nothing, like Enter.
func EnterPromptly() {}

// BreatheShortly yields like Breathe, with shorter sleeps, for work that a client waits for.
func BreatheShortly() { time.Sleep(20 * time.Microsecond) }

// Breathe gives the processor away for a moment.
func Breathe() { time.Sleep(100 * time.Microsecond) }
