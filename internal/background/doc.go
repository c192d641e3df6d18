// Package background is for work that may take as long as it likes, and must not take the processors from
// what cannot wait: the writing of a snapshot, a million keys that die together.
//
// It owns how a thread gives way to the others of the machine, and must not know what the work is. A system
// on which that is done in another way gets a file of its own.
package background
