// Package recur computes the times of a rule: an interval in milliseconds, or a cron expression in a time
// zone.
//
// It owns what a cron expression means: its fields, and the changes to and from daylight saving. It must not
// know the clock, keys, commands or replies: times are arguments, in milliseconds since 1970. The package
// github.com/netresearch/go-cron reads the fields and finds the next match on a calendar without time zones.
// This package computes when the clock of a zone shows that match.
//
// An expression with every hour (*, or all 24) follows real time. "0 * * * *" has 23 times on the day on
// which clocks go forward, and 25 when they go back. Any other expression names hours of the
// clock on the wall. A time that the clock skips is due at the moment of the change. A time that the clock
// shows twice is due at its first occurrence.
//
// To add a form of rule, give Rule its fields and extend Rule.After.
package recur
