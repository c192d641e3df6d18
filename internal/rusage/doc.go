// Package rusage asks the operating system what this process uses and may use, and what the machine has. It
// knows nothing of servers; another figure is a function here, in the file of each kind of system.
package rusage
