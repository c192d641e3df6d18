package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"lockserver/internal/call"
	"lockserver/internal/config"
	"lockserver/internal/inspect"
	"lockserver/internal/resp"
)

// A bundle is one file with the facts about all members of a group that a remote helper needs first. If a
// fact cannot be fetched, the bundle has NAME.missing.txt with the reason.

const (
	// bundlePatience is the largest time for one answer of a member, in addition to the time of a profile.
	bundlePatience = 10 * time.Second
	// mostBundled bounds the size of one HTTP answer in bytes.
	mostBundled = 64 << 20
	// hiddenValue replaces the value of a directive that may hold a secret.
	hiddenValue = "(hidden)"
)

// runDebug is `lockserver debug` from its arguments, without that word, to its exit code.
func runDebug(args []string, stdout, stderr io.Writer) int {
	err := errors.New("try: lockserver debug --help")
	switch {
	case len(args) == 1 && (args[0] == "-h" || args[0] == "--help"):
		err = flag.ErrHelp
	case len(args) > 0 && args[0] == "bundle":
		err = bundle(args[1:], stdout)
	}
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, debugUsage)
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "lockserver debug: %v\n", err)
		return 1
	}
	return 0
}

// bundler makes a bundle.
type bundler struct {
	options inspect.Target
	seconds int

	mu    sync.Mutex
	files map[string][]byte
}

// bundle is `lockserver debug bundle`. The file is written after all questions.
func bundle(args []string, stdout io.Writer) error {
	var r remote
	b := bundler{files: map[string][]byte{}}
	f := flag.NewFlagSet("debug bundle", flag.ContinueOnError)
	r.flags(f)
	f.IntVar(&b.seconds, "seconds", 5, "")
	f.SetOutput(io.Discard)
	words, err := parseMixed(f, args)
	if err != nil {
		return err
	}
	if len(words) != 1 || b.seconds < 1 || b.seconds > 60 {
		return errors.New("one FILE, and --seconds from 1 to 60: try lockserver debug --help")
	}
	if b.options, err = r.options(); err != nil {
		return err
	}
	if _, err := os.Stat(words[0]); err == nil {
		return fmt.Errorf("%s exists already", words[0])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.collect(ctx); err != nil {
		return err
	}
	if err := b.write(words[0]); err != nil {
		return err
	}
	missing := 0
	for name := range b.files {
		if strings.HasSuffix(name, missingSuffix) {
			missing++
		}
	}
	fmt.Fprintf(stdout, "%s: %d files, %d of them say why something is missing\n", words[0], len(b.files), missing)
	return nil
}

// collect asks all members of the group, or the only server. The error says that no server answers.
func (b *bundler) collect(ctx context.Context) error {
	addrs := strings.Split(b.options.Addr, ",")
	g, err := inspect.LookAtGroup(ctx, b.options, addrs)
	servers := map[string]string{}
	if err == nil {
		b.state(g)
		for i := range g.Members {
			servers[g.Members[i].ID] = g.Members[i].Client
		}
	} else { // no group, or its members do not know it
		b.miss("status.txt", err)
		for i, addr := range addrs {
			servers[fmt.Sprintf("server%d", i)] = addr
		}
		b.addShards(ctx, servers)
	}
	b.add("about.txt", fmt.Appendf(nil, "made at %s by\n%s\nof %s\n", time.Now().UTC().Format(time.RFC3339), versionLines(), b.options.Addr))
	var all sync.WaitGroup
	var answers atomic.Int64
	for id, addr := range servers {
		all.Go(func() {
			if b.server(ctx, safeName(id), addr) {
				answers.Add(1)
			}
		})
	}
	all.Wait()
	if answers.Load() == 0 {
		return fmt.Errorf("no server answers: %w", cmp.Or(err, errors.New("see lockserver status")))
	}
	return ctx.Err()
}

// addShards replaces the address of one shard by those of all shards of its process.
func (b *bundler) addShards(ctx context.Context, servers map[string]string) {
	for _, id := range slices.Collect(maps.Keys(servers)) {
		o := b.options
		o.Addr = servers[id]
		var r remote
		c, err := r.connect(ctx, o, bundlePatience)
		if err != nil {
			continue // the next question to it gets the reason
		}
		if all := inspect.ShardsOf(c, o.Addr); len(all) > 1 {
			delete(servers, id)
			for i, addr := range all {
				servers[fmt.Sprintf("%s-shard%d", id, i+1)] = addr
			}
		}
		c.Close()
	}
}

// state adds the state of all members.
func (b *bundler) state(g *inspect.Group) {
	for name, print := range map[string]func(io.Writer) error{"status.txt": g.Print, "status.json": g.PrintJSON} {
		var text bytes.Buffer
		if err := print(&text); err != nil {
			b.miss(name, err)
			continue
		}
		b.add(name, text.Bytes())
	}
}

// server adds all facts about one server, in a directory of its own. It reports whether the server answers.
func (b *bundler) server(ctx context.Context, dir, addr string) bool {
	o := b.options
	o.Addr = addr
	var r remote
	c, err := r.connect(ctx, o, bundlePatience)
	if err == nil {
		defer c.Close()
		defer context.AfterFunc(ctx, c.Close)()
	}
	values := b.commands(c, err, dir)
	base, why := adminAddress(addr, values)
	b.pages(ctx, dir, base, cmp.Or(err, why))
	return err == nil
}

// commands adds the replies to commands, and returns the directives.
func (b *bundler) commands(c *call.Conn, broken error, dir string) (values map[string]string) {
	for _, q := range []struct {
		name  string
		words []string
	}{
		{"info.txt", []string{"INFO", "everything"}}, {"slowlog.txt", []string{"SLOWLOG", "GET", "128"}}, {"latency.txt", []string{"LATENCY", "LATEST"}},
		{"raft-members.txt", []string{"RAFT", "MEMBERS"}}, {"raft-info.txt", []string{"RAFT", "INFO"}}, {"memory.txt", []string{"MEMORY", "STATS"}},
		{"lock-stats.txt", []string{"LOCK.STATS"}}, {"config.txt", []string{"CONFIG", "GET", "*"}},
	} {
		name := path.Join(dir, q.name)
		if broken != nil {
			b.miss(name, broken)
			continue
		}
		v, err := c.Do(q.words...)
		switch {
		case err != nil:
			b.miss(name, err)
		case q.name == "config.txt":
			var text []byte
			text, values = withoutSecrets(v.Elems)
			b.add(name, text)
		case len(v.Elems) == 0 && v.Str != "":
			b.add(name, []byte(v.Str))
		default:
			b.add(name, []byte(strings.Join(linesOf(v.Elems), "\n")+"\n"))
		}
	}
	return values
}

// pages adds the pages of the admin port.
func (b *bundler) pages(ctx context.Context, dir, base string, why error) {
	var all sync.WaitGroup
	for name, page := range map[string]string{
		"metrics.txt": "/metrics", "ready.txt": "/readyz", "log.txt": "/debug/log", "heap.pprof": "/debug/pprof/heap",
		"goroutines.txt": "/debug/pprof/goroutine?debug=1", "cpu.pprof": fmt.Sprintf("/debug/pprof/profile?seconds=%d", b.seconds),
	} {
		name := path.Join(dir, name)
		if why != nil {
			b.miss(name, why)
			continue
		}
		all.Go(func() {
			text, err := fetchPage(ctx, base+page, bundlePatience+time.Duration(b.seconds)*time.Second)
			if err != nil {
				b.miss(name, err)
				return
			}
			b.add(name, text)
		})
	}
	all.Wait()
}

// fetchPage gets a page of an admin port.
func fetchPage(ctx context.Context, from string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostBundled))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotFound && strings.Contains(from, "/debug/"), answer.StatusCode >= 300 && answer.StatusCode < 400:
		return nil, fmt.Errorf("%s: profiles and the log are served with admin-debug yes", from)
	case answer.StatusCode != http.StatusOK && !strings.HasSuffix(from, "/readyz"):
		return nil, fmt.Errorf("%s: %s: %s", from, answer.Status, strings.TrimSpace(string(text[:min(len(text), 200)])))
	}
	return text, nil
}

// adminAddress returns the address of a server's admin port, by its directives.
func adminAddress(addr string, values map[string]string) (base string, err error) {
	port, bind := values["admin-port"], values["admin-bind"]
	if port == "" || port == "0" {
		return "", errors.New("the server has no admin port (admin-port), or does not say so")
	}
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(bind)
	switch {
	case ip != nil && ip.IsUnspecified():
	case ip != nil && ip.IsLoopback() && !isHere(host):
		return "", fmt.Errorf("the admin port is only reached on the machine of the server (admin-bind %s): make a bundle there, too", bind)
	default:
		host = bind
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// isHere reports whether a host is this machine.
func isHere(host string) bool {
	if host == "" || host == "localhost" { // a unix socket
		return true
	}
	ip := net.ParseIP(host)
	own, _ := net.InterfaceAddrs()
	return ip != nil && (ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	}))
}

// withoutSecrets returns the directives as lines and as a map, with hidden values where a value may be a
// secret.
func withoutSecrets(elems []resp.Value) (text []byte, values map[string]string) {
	values = map[string]string{}
	for i := 0; i+1 < len(elems); i += 2 {
		name, value := elems[i].Str, elems[i+1].Str
		values[name] = value
		if value != "" && maybeSecret(name) {
			value = hiddenValue
		}
		text = fmt.Appendf(text, "%s %q\n", name, value)
	}
	return text, values
}

// maybeSecret reports whether the value of a directive may be a secret. A newer server may have directives
// that this version does not know. For these the name decides.
func maybeSecret(name string) bool {
	if config.IsKnown(name) || strings.HasSuffix(name, "-file") {
		return config.IsSecret(name)
	}
	return slices.ContainsFunc([]string{"pass", "auth", "user", "secret", "token", "key", "endpoint"}, func(part string) bool { return strings.Contains(name, part) })
}

// linesOf returns the elements of a reply, one a line.
func linesOf(elems []resp.Value) (lines []string) {
	for _, e := range elems {
		lines = append(lines, e.String())
	}
	return lines
}

// missingSuffix ends the name of a file with the reason why another file is missing.
const missingSuffix = ".missing.txt"

// miss adds the reason why a file is missing.
func (b *bundler) miss(name string, why error) { b.add(name+missingSuffix, []byte(why.Error()+"\n")) }

// add adds a file.
func (b *bundler) add(name string, text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[name] = text
}

// safeName returns an id in a form that can name a directory.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' || r == '.' {
			return '_'
		}
		return r
	}, id)
}

// bundleMode lets only the owner read a bundle, which may contain names and values of data.
const bundleMode = 0o600

// write writes the bundle: one directory, in a tar.gz.
func (b *bundler) write(to string) (err error) {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, bundleMode)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(to))
		}
	}()
	packed := gzip.NewWriter(f)
	out := tar.NewWriter(packed)
	names := make([]string, 0, len(b.files))
	for name := range b.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		head := &tar.Header{Name: "lockserver-bundle/" + name, Mode: bundleMode, Size: int64(len(b.files[name])), ModTime: time.Now()}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := out.Write(b.files[name]); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), packed.Close())
}

const debugUsage = `Usage: lockserver debug bundle FILE [--flag value ...]

Writes what a person who helps from afar asks for first into FILE, a tar.gz: the state of all members of a raft group, and
of each its directives without secrets, figures, INFO, slow log, the last lines of its log, and profiles of heap,
goroutines and processor. It is what 'consul debug' makes. What could not be fetched is in it as NAME.missing.txt, with
the reason. The file may have names and values of data, from the slow log.

  --seconds 5        how long the profile of the processor takes, up to 60
` + remoteUsage + `
Figures need admin-port, and the log and profiles admin-debug yes as well. An admin port that listens on a loopback
address is only reached on its own machine. --addr may have the addresses of several members, with commas.
`
