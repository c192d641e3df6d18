// Package rusage asks the operating system for the usage and limits of this process, and for the size of the
// machine. It must not know servers. Another figure is a function here, in the file of each kind of system.
package rusage
