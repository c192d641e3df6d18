package readme

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/resp"
)

// The programs that the blocks of docs/HA.md call besides those of every system: this test, under their
// names.

// The variables by which they learn where they are.
const (
	machineVar = "HA_MACHINE" // the name of the machine
	socketVar  = "HA_SOCKET"  // of the test, which is its systemd
	portVar    = "HA_PORT"    // redis-cli's, without -p
)

// asProgram runs this process as one of them; false: it is the test.
func asProgram() (code int, is bool) {
	switch filepath.Base(os.Args[0]) {
	case "redis-cli":
		return redisCLIIn(os.Args[1:], os.Stdout), true
	case "systemctl":
		return systemctl(os.Args[1:], os.Stdout), true
	}
	return 0, false
}

// systemctl has the test do it.
func systemctl(args []string, out io.Writer) int {
	conn, err := net.Dial("unix", os.Getenv(socketVar))
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintln(conn, os.Getenv(machineVar), strings.Join(args, " "))
	}
	answer := []byte{}
	if err == nil {
		answer, err = io.ReadAll(conn)
	}
	if err != nil || string(answer) != "done" {
		fmt.Fprintf(out, "systemctl %v: %s %v\n", args, answer, err)
		return 1
	}
	return 0
}

// redisCLIIn is redis-cli with one command, as far as the page needs it: -h, -p, -c, and the password in
// REDISCLI_AUTH. What is an error ends it with 1, so that no line of the page fails unseen.
func redisCLIIn(args []string, out io.Writer) int {
	host, port, follows := "127.0.0.1", os.Getenv(portVar), false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option := args[0]
		args = args[1:]
		switch option {
		case "-c":
			follows = true
			continue
		case "-h":
			host = args[0]
		case "-p":
			port = args[0]
		default:
			fmt.Fprintln(out, "redis-cli: what is", option)
			return 1
		}
		args = args[1:]
	}
	v, err := ask(net.JoinHostPort(host, port), args)
	if moved, is := strings.CutPrefix(fmt.Sprint(err), "MOVED "); is && follows {
		_, at, _ := strings.Cut(moved, " ")
		v, err = ask(at, args)
	}
	if err != nil {
		fmt.Fprintln(out, err)
		return 1
	}
	fmt.Fprint(out, raw(v))
	return 0
}

func ask(at string, words []string) (v resp.Value, err error) {
	nc, err := net.DialTimeout("tcp", at, 2*time.Second)
	if err != nil {
		return v, err
	}
	c := call.New(nc, 5*time.Second)
	defer c.Close()
	if password := os.Getenv("REDISCLI_AUTH"); password != "" {
		if _, err = c.Do("AUTH", password); err != nil {
			return v, err
		}
	}
	return c.Do(words...)
}

// raw is a reply as redis-cli prints it where there is no terminal.
func raw(v resp.Value) string {
	switch {
	case len(v.Elems) > 0:
		var b strings.Builder
		for e := range slices.Values(v.Elems) {
			b.WriteString(raw(e))
		}
		return b.String()
	case v.Kind == resp.Integer:
		return fmt.Sprintln(v.Int)
	}
	return v.Str + "\n"
}
