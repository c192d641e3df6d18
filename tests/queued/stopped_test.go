package queued

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"lockserver/internal/resp"
)

// stoppedVariable is an environment variable with the address of the server. It makes a process of this
// test's binary the client that is stopped.
const stoppedVariable = "LOCKSERVER_STOPPED_CLIENT"

// stoppedPrefix is the prefix of the owners of the stopped client.
const stoppedPrefix = "stopped-client:"

// stoppedClient runs that process. It has a lock with a lease, and a lock that the server renews. It waits
// for a third lock, and confirms the grant. It prints everything that it receives.
func stoppedClient(addr string) int {
	pushes := make(chan resp.Value, 64)
	dial := func() (net.Conn, error) { return net.Dial("tcp", addr) }
	c, err := openHearing(dial, func(_ *conn, v resp.Value) { pushes <- v }, false)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ask := func(words ...string) resp.Value {
		v, err := c.call(words...)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return v
	}
	ask("LOCK.ATTACH", "PREFIX", stoppedPrefix)
	fixed := ask("LOCK", "fixed", stoppedPrefix+"1", "PX", "2000").Int
	ask("LOCK", "renewed", stoppedPrefix+"2")
	ask("LOCK", "wanted", stoppedPrefix+"3", "WAIT", "0", "NOTIFY")
	fmt.Printf("fixed %d\nready %s\n", fixed, addr)
	for v := range pushes {
		word, key, owner := v.Elems[0].Str, v.Elems[1].Str, v.Elems[len(v.Elems)-1].Str
		switch word {
		case "lock-granted":
			token := strconv.FormatInt(v.Elems[2].Int, 10)
			confirmed := ask("LOCK.CONFIRM", key, owner, token).Int
			guarded, _, _ := strings.Cut(ask("GUARD", key, token, "INCR", "stale").String(), " ")
			fmt.Printf("told %s %s, confirmed %d, guarded %s\n", word, key, confirmed, guarded)
		case "lock-lost":
			fmt.Printf("told %s %s %s, renewed %s\n", word, key, v.Elems[3].Str, ask("RENEW", key, owner, "PX", "2000"))
		default:
			fmt.Printf("told %s %s %s\n", word, key, v.Elems[2].Str)
		}
	}
	return 0
}
