package raft

import (
	"strings"
	"time"
)

// oneLine replaces line ends by spaces.
func oneLine(r rune) rune {
	if r == '\r' || r == '\n' {
		return ' '
	}
	return r
}

// oneLineOf returns a text without line ends.
func oneLineOf(text string) string { return strings.Map(oneLine, text) }

// inMS returns a time in milliseconds, with one digit behind the point.
func inMS(d time.Duration) float64 { return float64(d.Microseconds()/100) / 10 }
