package server

import (
	"fmt"

	"lockserver/internal/rusage"
)

// reservedDescriptors is how many descriptors are kept for what is not a client, as in Redis:
// files, listeners, the runtime's.
const reservedDescriptors = 32

// FitMaxClients makes the process able to have so many clients (maxclients), and two descriptors for each
// further event loop (of io-threads): it raises the limit of open files. Where it may not, fits is how many
// clients there can be instead, and warning says so; it is empty if all is well. err says that the limit
// leaves nothing for clients. It is for programs that own their process.
func FitMaxClients(maxClients, loops int) (fits int, warning string, err error) {
	return fitMaxClients(maxClients, loops, rusage.OpenFiles)
}

func fitMaxClients(maxClients, loops int, openFiles func(need uint64) (uint64, bool, error)) (fits int, warning string, err error) {
	reserved := uint64(reservedDescriptors + 2*max(0, loops-1))
	need := uint64(maxClients) + reserved
	limit, ok, cause := openFiles(need)
	switch {
	case !ok || limit >= need:
		return maxClients, "", nil
	case limit <= reserved:
		return 0, "", fmt.Errorf("the limit of open files (ulimit -n) is %d, which leaves none for clients: %d are reserved, "+
			"and maxclients %d needs %d", limit, reserved, maxClients, need)
	}
	warning = fmt.Sprintf("maxclients is %d instead of %d: that many would need %d open files, and the limit (ulimit -n) is %d, "+
		"which the system does not raise: %v", limit-reserved, maxClients, need, limit, cause)
	return int(limit - reserved), warning, nil
}
