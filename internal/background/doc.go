// Package background is for work without a deadline that must not take the processors from urgent work:
// writing a snapshot, or removing a million keys that expire together.
//
// It owns how a thread gives way to other threads, and must not know what the work is. An operating system
// with another way to do this gets a file of its own.
package background
