// Package renewals knows which slots of a dict hold keys with deadlines that are extended again and again
// (locks that the server renews). For each it knows the keeper and the next time.
//
// There may be a million of them, so one takes 24 bytes: the key and its other data are found by the slot.
// Due renewals are found by a bound for each group of 64 slots, as the deadlines of keys are (due.Bounds).
// These 64 are adjacent in memory and are renewed together. Those of one keeper are chained, so that they are
// found when it goes.
//
// It must not know what is renewed, why, or how a dict works but for one thing: deleting an entry moves the
// last one into its place (Moved). To add an operation, keep what check in the test verifies.
package renewals
