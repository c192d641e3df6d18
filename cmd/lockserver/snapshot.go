package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/inspect"
	"lockserver/internal/resp"
	"lockserver/server/cluster"
	"lockserver/server/raft"
	"lockserver/server/raft/engine"
)

// snapshotPatience is the largest time for a snapshot of a server's data, or for a piece of it.
const snapshotPatience = 10 * time.Minute

// runSnapshot is `lockserver snapshot` from its arguments, without that word, to its exit code: 0 if the work
// was done and verified, 1 if not.
func runSnapshot(args []string, stdout, stderr io.Writer) int {
	var err error
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		err = flag.ErrHelp
	case len(args) > 0 && args[0] == "save":
		err = saveSnapshot(args[1:], stdout)
	case len(args) > 0 && args[0] == "status":
		err = snapshotStatus(args[1:], stdout)
	case len(args) > 0 && args[0] == "restore":
		err = restoreSnapshot(args[1:], stdout)
	default:
		err = errors.New("save, status or restore: try lockserver snapshot --help")
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, snapshotUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver snapshot: %v\n", err)
		return 1
	}
	return 0
}

// parseFile parses flags before and after the name of a file, which it returns.
func parseFile(f *flag.FlagSet, args []string) (path string, err error) {
	f.SetOutput(io.Discard)
	words, err := parseMixed(f, args)
	if err == nil && len(words) != 1 {
		err = fmt.Errorf("one FILE: try lockserver snapshot --help")
	}
	if err != nil {
		return "", err
	}
	return words[0], nil
}

// saveSnapshot requests a snapshot from a member, and writes it to a file. The file is replaced only when the
// whole snapshot has arrived and was verified.
func saveSnapshot(args []string, stdout io.Writer) error {
	var r remote
	var whole bool
	f := flag.NewFlagSet("snapshot save", flag.ContinueOnError)
	r.flags(f)
	f.BoolVar(&whole, "cluster", false, "")
	path, err := parseFile(f, args)
	if err != nil {
		return err
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if whole {
		return saveCluster(ctx, &r, o, path, stdout)
	}
	c, err := r.connect(ctx, o, snapshotPatience)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	made, err := save(c, path)
	if err != nil {
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	printBackup(stdout, path, &made)
	return nil
}

// connect connects to a server, and logs in.
func (r *remote) connect(ctx context.Context, o inspect.Target, timeout time.Duration) (*call.Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	nc, err := inspect.Dial(dialing, o)
	if err != nil {
		return nil, err
	}
	c := call.New(nc, timeout)
	if o.Password != "" {
		words := []string{"AUTH", o.User, o.Password}
		if o.User == "" {
			words = []string{"AUTH", o.Password}
		}
		if _, err := c.Do(words...); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// save asks a member for a backup, and writes it.
func save(c *call.Conn, path string) (made engine.BackupFile, err error) {
	v, err := c.Do("RAFT", "BACKUP")
	if err != nil {
		return made, err
	}
	words := make(map[string]resp.Value)
	for i := 0; i+1 < len(v.Elems); i += 2 {
		words[v.Elems[i].Str] = v.Elems[i+1]
	}
	is := engine.Backup{Index: uint64(words["index"].Int), Term: uint64(words["term"].Int), Group: words["group"].Str, Members: words["members"].Str,
		Head: raft.Head{ClockMS: words["time-ms"].Int, Token: words["token"].Int, Rules: words["recurs"].Int != 0}}
	return is.Save(path, &pieces{conn: c, id: words["id"].Str, size: words["bytes"].Int})
}

// pieces reads a backup from a member.
type pieces struct {
	conn     *call.Conn
	id       string
	size, at int64
	left     []byte
	over     bool
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		if p.over {
			return 0, io.EOF
		}
		v, err := p.conn.Do("RAFT", "READ", p.id, strconv.FormatInt(p.at, 10))
		if err != nil {
			return 0, fmt.Errorf("after %d of %d bytes: %w", p.at, p.size, err)
		}
		p.left = []byte(v.Str)
		p.at += int64(len(p.left))
		if p.over = len(p.left) == 0; p.over && p.at != p.size {
			return 0, fmt.Errorf("%d bytes were sent, and the snapshot has %d", p.at, p.size)
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// snapshotStatus prints the content of a file.
func snapshotStatus(args []string, stdout io.Writer) error {
	var whole bool
	f := flag.NewFlagSet("snapshot status", flag.ContinueOnError)
	f.BoolVar(&whole, "cluster", false, "")
	path, err := parseFile(f, args)
	if err != nil {
		return err
	}
	if whole {
		return clusterSnapshotStatus(path, stdout)
	}
	b, err := engine.ReadBackup(path)
	if err != nil {
		return err
	}
	printBackup(stdout, path, &b)
	return nil
}

// printBackup prints the content of a file.
func printBackup(w io.Writer, path string, b *engine.BackupFile) {
	fmt.Fprintf(w, "file:         %s\n", path)
	if b.IsBackup {
		fmt.Fprintf(w, "index:        %d\nterm:         %d\n", b.Index, b.Term)
	}
	if b.ClockMS > 0 {
		fmt.Fprintf(w, "time:         %s\n", time.UnixMilli(b.ClockMS).UTC().Format(time.RFC3339Nano))
	}
	fmt.Fprintf(w, "keys:         %d\nwith a deadline: %d\ntoken limit:  %d\n", b.Keys, b.Timed, b.Token)
	if b.IsBackup {
		fmt.Fprintf(w, "group:        %s\nmembers:      %s\n", b.Group, b.Members)
		if owned, generation, err := slotsIn(b); err == nil {
			fmt.Fprintf(w, "shard:        %s of %s\nslots:        %s\ngeneration:   %d\n", owned.Shard, owned.Cluster, cluster.RangesText(owned.Slots), generation)
		}
	}
	fmt.Fprintf(w, "bytes:        %d\nsha256:       %s\n", b.Bytes, b.Sum)
	for _, text := range b.Data.Warnings {
		fmt.Fprintf(w, "warning:      %s\n", text)
	}
}

// restoreSnapshot makes the directory of a member of a new group from a file.
func restoreSnapshot(args []string, stdout io.Writer) error {
	o := engine.Restoring{Log: slog.New(slog.DiscardHandler)}
	members, listen, shard := "", "", ""
	f := flag.NewFlagSet("snapshot restore", flag.ContinueOnError)
	f.StringVar(&o.Dir, "dir", "", "")
	f.StringVar(&o.ID, "raft-id", "", "")
	f.StringVar(&members, "raft-members", "", "")
	f.StringVar(&o.Name, "raft-group", "lockserver", "")
	f.StringVar(&o.GroupID, "group-id", "", "")
	f.Func("token-floor", "", func(word string) (err error) {
		o.TokenFloor, err = strconv.ParseInt(word, 10, 64)
		if err != nil || o.TokenFloor <= 0 || o.TokenFloor >= raft.MaxToken {
			return fmt.Errorf("a fencing token is a whole number from 1 to %d", int64(raft.MaxToken)-1)
		}
		return nil
	})
	f.StringVar(&shard, "cluster-shard", "", "")
	f.StringVar(&listen, "raft-listen", "", "") // so that a member's words can be copied
	var err error
	if o.File, err = parseFile(f, args); err != nil {
		return err
	}
	if o.Dir == "" || o.ID == "" || members == "" {
		return errors.New("--dir, --raft-id and --raft-members are needed")
	}
	if o.Members, err = raft.ParsePeers(members); err != nil {
		return fmt.Errorf("--raft-members: %w", err)
	}
	if listen != "" {
		if _, _, err := net.SplitHostPort(listen); err != nil {
			return fmt.Errorf("--raft-listen: %w", err)
		}
	}
	if shard != "" {
		set, err := readSet(o.File)
		if err != nil {
			return err
		}
		if set.files[shard] == nil {
			return fmt.Errorf("%s has no backup of the shard %s", o.File, shard)
		}
		o.File = filepath.Join(o.File, shard+".rdb")
	}
	b, err := o.Restore()
	if err != nil {
		return err
	}
	printBackup(stdout, o.File, &b)
	fmt.Fprintf(stdout, "restored to:  %s\nnew group:    %s\nmember:       %s of %s\n", filepath.Join(o.Dir, "raft"), o.GroupID, o.ID, members)
	if b.Data.Databases > 1 {
		fmt.Fprintln(stdout, "warning:      the file has keys in several databases; clients of a group reach database 0 alone, unless they find it by Sentinels")
	}
	if age := b.Age(time.Now()); age > 0 {
		fmt.Fprintf(stdout, "The backup is %s old. When the group has a leader, leases and deadlines go on with what was left of them then.\n", age.Round(time.Second))
	}
	fmt.Fprintln(stdout, "Restore the same file with the same --raft-members for each member, and start them.")
	return nil
}

const snapshotUsage = `Usage: lockserver snapshot save FILE [--addr host:port ...]
       lockserver snapshot status FILE
       lockserver snapshot restore FILE --dir DIR --raft-id ID --raft-members LIST [--token-floor N]
       lockserver snapshot save --cluster SET [--addr host:port ...]
       lockserver snapshot status --cluster SET
       lockserver snapshot restore SET --cluster-shard NAME --dir DIR --raft-id ID --raft-members LIST

Saves a backup of a raft group, tells what a backup holds, and makes a new group from one. See docs/HA.md.

save has a member, leader or not, make a snapshot, and copies it to FILE. FILE is replaced when all has arrived and was
verified; after a failure it is as it was. It is an RDB file: a single lockserver and Redis load it, too.

status verifies FILE and prints its index, time, keys, limit of tokens and checksum. FILE may be any RDB file.

restore makes DIR/raft, the directory of one member of a new group with the data of FILE. Run it for each member, with
the same FILE and the same members. Members of the old group cannot join. FILE may be the dump.rdb of a Redis.

With --cluster, save makes a backup of each shard of a cluster of raft groups: SET is a directory with a file for each
shard, which has its slots and their generation. Nothing is saved while a shard has no leader. restore with
--cluster-shard restores the file of that shard. A SET that does not have each slot exactly once is refused.

  --dir DIR             the directory that the member's configuration has as dir
  --raft-id ID          the member's id
  --raft-members LIST   the members of the new group, as in the configuration: "a=raft-address/client-address b=..."
  --raft-group NAME     the group's name, if it is not lockserver
  --group-id ID         the id of the new group, the same for all; it is needed if FILE was restored for these members before
  --token-floor N       the fencing tokens of the new group are above N, the same for all; lockserver status shows the
                        highest token of a group
` + remoteUsage
