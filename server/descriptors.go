package server

import (
	"fmt"

	"lockserver/internal/config"
	"lockserver/internal/rusage"
)

// reservedDescriptors is how many descriptors are kept for what is not a client, as in Redis:
// files, listeners, the runtime's.
const reservedDescriptors = 32

// FitMaxClients makes the process able to have as many clients as the directives say, and two descriptors
// for each further event loop: it raises the limit of open files, and where it may not, lowers maxclients.
// warning says so, and is empty if all is well; err says that the limit leaves nothing for clients. It is
// for programs that own their process.
func FitMaxClients(c *config.Config) (warning string, err error) {
	return fitMaxClients(c, rusage.OpenFiles)
}

func fitMaxClients(c *config.Config, openFiles func(need uint64) (uint64, bool, error)) (warning string, err error) {
	reserved := uint64(reservedDescriptors + 2*max(0, c.IOThreads-1))
	need := uint64(c.MaxClients) + reserved
	limit, ok, cause := openFiles(need)
	switch {
	case !ok || limit >= need:
		return "", nil
	case limit <= reserved:
		return "", fmt.Errorf("the limit of open files (ulimit -n) is %d, which leaves none for clients: %d are reserved, "+
			"and maxclients %d needs %d", limit, reserved, c.MaxClients, need)
	}
	warning = fmt.Sprintf("maxclients is %d instead of %d: that many would need %d open files, and the limit (ulimit -n) is %d, "+
		"which the system does not raise: %v", limit-reserved, c.MaxClients, need, limit, cause)
	c.MaxClients = int(limit - reserved)
	return warning, nil
}
