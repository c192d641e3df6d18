// Reminders shows delayed entries at work. An order is placed, its user is reminded to pay, and it is
// cancelled unless it is paid in time. A reminder that cannot be sent is tried again after longer and longer
// pauses, and finally goes to a stream for dead letters. Any process may be killed at any moment. The README
// explains why nothing is lost.
package main
