package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"lockserver/internal/config"
	"lockserver/server"
)

// runReshard is `lockserver reshard` from its arguments, without that word, to its exit code: 0 if the data
// now has that number of shards, 1 if not.
func runReshard(args []string, stdout, stderr io.Writer) int {
	cmd, err := config.ParseArgs(args, config.OSFiles())
	switch {
	case len(args) == 0:
		err = errors.New("--dir and --shards are needed: try lockserver reshard --help")
	case err == nil && cmd.Help:
		fmt.Fprint(stdout, reshardUsage)
		return 0
	case err == nil && cmd.Config.Shards == 1:
		err = errors.New("--shards 2 to 64: a server without shards has data of another form, and is copied: see docs/CLUSTER.md")
	}
	var got server.Resharded
	if err == nil {
		c := cmd.Config
		got, err = server.Reshard(server.Options{Directives: reshardDirectives(c), Dir: c.Dir, Log: slog.New(slog.DiscardHandler)}, c.Shards)
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver reshard: %v\n", err)
		return 1
	}
	if got.From == got.To {
		fmt.Fprintf(stdout, "The data is that of %d shards.\n", got.To)
		return 0
	}
	fmt.Fprintf(stdout, "%d shards have the data of %d now: %d keys, read again and compared. The old data is in %s. Remove it when the cluster has started.\n",
		got.To, got.From, got.Keys, got.Kept)
	return 0
}

// reshardDirectives returns the directives of a configuration without those of addresses and passwords.
func reshardDirectives(c *config.Config) map[string]string {
	all := make(map[string]string)
	for name, value := range c.Directives() {
		if server.ReadsFiles(name) {
			all[name] = value
		}
	}
	return all
}

const reshardUsage = `Usage: lockserver reshard [redis.conf] --dir DIR --shards N [--directive value ...]

Splits or joins the data of a cluster of shards in one process, for N shards. See docs/CLUSTER.md. The cluster must not
run. Say the same directives as for its start, such as --appendonly yes. The new data is made beside the old data, read
again and compared, and then put in its place. After a crash or an error run it again.
`
