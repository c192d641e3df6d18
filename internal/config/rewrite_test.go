package config

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

func TestRewrite(t *testing.T) {
	old := strings.Join([]string{
		"# my comment", "port 17777", "bind 127.0.0.1", "", "# hz comment", "HZ 10", "save 900 1", "# between", "save 300 10",
		"maxclients   100 ", "hash-max-ziplist-entries 512", "client-output-buffer-limit normal 256mb 0 0",
		"client-output-buffer-limit replica 256mb 64mb 60", "include inc.conf", "timeout 5", "timeout 6", "loglevel \"notice\"",
		"repl-timeout 7", "  requirepass 'a b' ", "",
	}, "\n")
	parse := func(text []byte) *Config {
		c, err := Parse("f", text, fakeFiles(map[string]string{"inc.conf": "shutdown-timeout 8"}))
		require.NoError(t, err, string(text))
		return c
	}
	for name, x := range map[string]struct {
		set  []string
		want func(string) string
	}{
		"nothing": {nil, nil},
		"in place, also a default": {[]string{"maxclients", "10000", "hash-max-listpack-entries", "5", "requirepass", "q\"\n"},
			strings.NewReplacer("maxclients   100 ", "maxclients 10000", "hash-max-ziplist-entries 512", "hash-max-listpack-entries 5",
				"  requirepass 'a b' ", `requirepass "q\"\n"`).Replace},
		"fewer save points": {[]string{"save", "10 20"}, strings.NewReplacer("save 900 1\n", "save 10 20\n", "save 300 10\n", "").Replace},
		"no save points":    {[]string{"save", ""}, strings.NewReplacer("save 900 1\n", "save \"\"\n", "save 300 10\n", "").Replace},
		"more save points":  {[]string{"save", "1 1 2 2 3 3"}, strings.NewReplacer("save 900 1", "save 1 1", "save 300 10", "save 2 2\nsave 3 3").Replace},
		"limits": {[]string{"client-output-buffer-limit", "normal 1kb 2 3 pubsub 4 5 6"},
			strings.NewReplacer("normal 256mb 0 0", "normal 1kb 2 3", "replica 256mb 64mb 60", "pubsub 4 5 6").Replace},
		"limits back to the defaults": {[]string{"client-output-buffer-limit", "normal 0 0 0"},
			strings.NewReplacer("client-output-buffer-limit normal 256mb 0 0\n", "", "client-output-buffer-limit replica 256mb 64mb 60\n", "").Replace},
		"new": {[]string{"lock-watchdog-timeout", "5000", "rdbcompression", "no"}, func(s string) string {
			return s + "rdbcompression no\nlock-watchdog-timeout 5000\n"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := parse([]byte(old))
			if x.set != nil {
				_, err := c.Set(x.set, true)
				require.NoError(t, err)
			}
			// The value from the included file is written out; a doubled line becomes one line.
			want := strings.NewReplacer("timeout 5\ntimeout 6\n", "timeout 6\n").Replace(old) + signature + "\nshutdown-timeout 8\n"
			if x.want != nil {
				want = x.want(want)
			}
			got := c.Rewrite([]byte(old))
			require.Equal(t, want, string(got))
			again := parse(got)
			require.Equal(t, c, again)
			require.Equal(t, string(got), string(again.Rewrite(got)), "a second rewrite changes nothing")
		})
	}
}

func TestRewriteOfNothing(t *testing.T) {
	c := Default()
	require.Empty(t, c.Rewrite(nil))
	c.HZ = 20
	require.Equal(t, signature+"\nhz 20\n", string(c.Rewrite(nil)))
	require.Equal(t, "#??? pidfile \"x\n\n"+signature+"\nhz 20\n", string(c.Rewrite([]byte("pidfile \"x\n\n"))))
	require.Equal(t, "unknown 5\n"+signature+"\ntimeout 0\nhz 20\n", string(c.Rewrite([]byte("unknown 5\n"+signature+"\ntimeout 9"))))
}

// Any configuration, written over any file, must be read back at the next start.
func TestRewriteRoundTrip(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		old := randomFile(r)
		_, err := Parse("old", []byte(old), Files{})
		require.NoError(t, err, old)
		c, err := Parse("new", []byte(randomFile(r)), Files{})
		require.NoError(t, err)
		text := c.Rewrite([]byte(old))
		got, err := Parse("rewritten", text, Files{})
		require.NoError(t, err)
		got.ignored, c.ignored = nil, nil
		require.Equal(t, c, got, "over\n%s\nbecame\n%s", old, text)
		require.Equal(t, string(text), string(got.Rewrite(text)))
		require.Equal(t, comments(old), comments(string(text)))
	}
}

func comments(text string) (all []string) {
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "# note") {
			all = append(all, line)
		}
	}
	return all
}

// randomFile is a valid file with comments, doubled lines and old names.
func randomFile(r *rand.Rand) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	var b strings.Builder
	for n := range r.IntN(25) {
		num := r.IntN(300) + 3
		switch r.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "# note %d\n", n)
		case 1:
			fmt.Fprintf(&b, "save %d %d\n", num, r.IntN(100))
		case 2:
			b.WriteString(pick("save \"\"\n", "save 1 1 2 2\n", "bind\n", "bind ::1 -127.0.0.1\n", "bind \"* -::*\"\n"))
		case 3:
			fmt.Fprintf(&b, "client-output-buffer-limit %s %dmb %d %d\n", pick("normal", "slave", "replica", "PubSub"), num, r.IntN(5), r.IntN(99))
		case 4:
			fmt.Fprintf(&b, "%s %d\n", pick("hz", "timeout", "TCP-Keepalive", "hash-max-ziplist-entries", "hash-max-listpack-entries", "lock-watchdog-timeout", "list-max-ziplist-size", "repl-timeout"), num)
		case 5:
			fmt.Fprintf(&b, "requirepass %s\n", quote(string([]byte{byte(r.IntN(256)), byte(r.IntN(256)), ' '})))
		case 6:
			fmt.Fprintf(&b, "%s %s\n", pick("rdbcompression", "rdbchecksum", "protected-mode", "stop-writes-on-bgsave-error"), pick("yes", "no", "YES"))
		case 7:
			fmt.Fprintf(&b, "%s %d%s\n", pick("proto-max-bulk-len", "client-query-buffer-limit"), num, pick("mb", "MB", "gb", "g"))
		case 8:
			fmt.Fprintf(&b, "shutdown-on-sigint %s\n", pick("default", "save now", "nosave force", "now now"))
		case 9:
			fmt.Fprintf(&b, "%s %s\n", pick("loglevel", "LOGLEVEL"), pick("debug", "verbose", "'notice'", "\"warning\""))
		case 10:
			fmt.Fprintf(&b, "  unixsocketperm  0%o\t\r\n", r.IntN(512))
		case 11:
			b.WriteString(pick("\n", signature+"\n", "dir /tmp\n", "dbfilename \"x y\"\n"))
		}
	}
	return b.String()
}

func TestRewriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "redis.conf")
	require.NoError(t, os.WriteFile(path, []byte("# mine\nhz 10\n"), 0o640))
	c := Default()
	c.HZ = 33
	require.NoError(t, c.RewriteFile(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# mine\nhz 33\n", string(data))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	require.NoError(t, c.RewriteFile(filepath.Join(dir, "new.conf")))
	require.Error(t, c.RewriteFile(filepath.Join(dir, "no", "such.conf")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary file is left")

	link := filepath.Join(dir, "link.conf")
	require.NoError(t, os.Symlink(path, link))
	c.HZ = 44
	require.NoError(t, c.RewriteFile(link))
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
}

func FuzzParse(f *testing.F) {
	for _, c := range fileCases {
		f.Add([]byte(c[0]))
	}
	f.Add([]byte("# c\nsave 1 1\nrequirepass 'a\\'b'\n\v\nsave 2 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data, fakeFiles(map[string]string{"a": "hz 5"}))
		if err != nil {
			require.IsType(t, &LineError{}, err)
			return
		}
		text := c.Rewrite(data)
		again, err := Parse("f", text, fakeFiles(map[string]string{"a": "hz 5"}))
		require.NoError(t, err, "%q", text)
		if strings.Contains(strings.ToLower(string(data)), "include") {
			return // a later include may override the value, here as in Redis
		}
		require.Equal(t, c, again, "%q", text)
	})
}
