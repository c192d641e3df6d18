// Package lockclass counts what happens to locks by classes, which are patterns of keys.
//
// It owns the classes, how the class of a key is found, and the figures of each class. It must not know the
// server, a clock or the data. It is not safe for concurrent use.
//
// The class of a key is found by its patterns in order. A few simple patterns (text, or text and a '*') are
// compared one after the other. With others, or more of them, the result is kept in a small cache by the
// hash of the key. So a key that is locked again and again costs one look. Two keys with the same 64-bit
// hash would share a class there; the figures are the only thing that depends on it.
//
// To add a figure, add a field to Figures, count it in server/wait/lock_events.go, and show it in
// LOCK.STATS, INFO and the metrics.
package lockclass
