// Package background is for work without a deadline that must not take the processors from urgent work:
// writing a snapshot, or removing a million keys that expire together.
//
// It owns how a thread gives way to the others of the machine, and must not know what the work is. A system
// on which that is done in another way gets a file of its own.
package background
