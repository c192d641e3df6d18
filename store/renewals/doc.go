// Package renewals knows which slots of a dict hold keys with deadlines that are extended again and again
// (locks that the server renews). For each such key it knows the keeper and the time of the next renewal.
//
// There may be a million of them, so a renewal takes 24 bytes: the key and its other data are found by the
// slot. Due renewals are found by a bound for each group of 64 slots, like the deadlines of keys
// (due.Bounds). These 64 are adjacent in memory and are renewed together. The renewals of a keeper are
// chained, so that they are found when the keeper disconnects.
//
// It must not know what is renewed, or why. Of a dict it knows only that deleting an entry moves the last
// entry into its place (Moved). To add an operation, keep the invariants that check in the test verifies.
package renewals
