// Package renewals knows which slots of a dict hold keys whose deadlines are moved on again and again (locks
// that the server renews), for whom that is done, and when the next time is.
//
// There may be a million of them, so one takes 24 bytes: the key, and what else belongs to it, is found by
// the slot. What falls due is found by a bound for each 64 slots, as the deadlines of keys are (due.Bounds);
// those 64 lie side by side in memory, and are worked off together. Those of one keeper are chained, so that
// they are found when it goes.
//
// It must not know what is renewed, why, or how a dict works but for one thing: deleting an entry moves the
// last one into its place (Moved). To add an operation, keep what check in the test verifies.
package renewals
