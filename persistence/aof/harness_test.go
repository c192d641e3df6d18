package aof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/internal/resp"
	"lockserver/persistence/disk"
	"lockserver/store"
	"lockserver/tests/lossy"
)

// patience limits the waits of tests.
const patience = 30 * time.Second

func placeOn(files disk.FS) Location {
	return Location{FS: files, Dir: ".", Sub: "log", Filename: "a.aof"}
}

// lines is an Input that keeps each command as a line. A snapshot is one line.
type lines struct {
	got   []string
	files []string
	fail  string // the command that returns an error
}

var errRefused = errors.New("refused")

func (l *lines) Begin(file string) error {
	l.files = append(l.files, file)
	return nil
}

// Snapshot reads "REDIS" and the text up to a dot.
func (l *lines) Snapshot(r io.Reader) (int64, error) {
	all, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	n := bytes.IndexByte(all, '.')
	if n < 0 {
		return 0, errors.New("offset 5: a snapshot without end")
	}
	l.got = append(l.got, string(all[:n]))
	return int64(n + 1), nil
}

func (l *lines) Command(args [][]byte) error {
	line := string(bytes.Join(args, []byte(" ")))
	if l.fail != "" && line == l.fail {
		return errRefused
	}
	l.got = append(l.got, line)
	return nil
}

func effect(db int, line string) store.Effect {
	e := store.Effect{DB: db}
	for _, w := range strings.Fields(line) {
		e.Args = append(e.Args, []byte(w))
	}
	return e
}

// unit returns the effects of a unit in database 0.
func unit(commands ...string) (effects []store.Effect) {
	for _, c := range commands {
		effects = append(effects, effect(0, c))
	}
	return effects
}

// snapshotOf writes a base that lines.Snapshot reads.
func snapshotOf(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, "REDIS "+text+".")
		return err
	}
}

// watch records the callbacks of a log.
type watch struct {
	mu      sync.Mutex
	durable int64
	synced  int64
	failed  []error
	warned  []error
	moved   chan struct{}
}

func newWatch() *watch { return &watch{moved: make(chan struct{}, 1)} }

func (w *watch) options(p Policy) Options {
	update := func(set func()) {
		w.mu.Lock()
		set()
		w.mu.Unlock()
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
	return Options{Policy: p,
		Durable:   func(at int64) { update(func() { w.durable = at }) },
		Synced:    func(at int64) { update(func() { w.synced = at }) },
		Failed:    func(err error) { update(func() { w.failed = append(w.failed, err) }) },
		Warn:      func(err error) { update(func() { w.warned = append(w.warned, err) }) },
		SyncEvery: 5 * time.Millisecond,
	}
}

// await waits until ok returns true; ok is called after each callback of the log.
func (w *watch) await(t testing.TB, ok func() bool) {
	t.Helper()
	late := time.After(patience)
	for {
		w.mu.Lock()
		yes := ok()
		w.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-w.moved:
		case <-late:
			require.FailNow(t, "the log does not move")
		}
	}
}

// open loads the log of a place and continues it. A new log gets the base "REDIS start".
func open(t testing.TB, p Location, o Options) (*Log, *lines, Loaded) {
	t.Helper()
	d, err := OpenDir(p)
	require.NoError(t, err)
	in := &lines{}
	got, err := d.Load(in, LoadOptions{CutTorn: true})
	require.NoError(t, err)
	l, err := d.Continue(o, snapshotOf("start"))
	require.NoError(t, err)
	return l, in, got
}

// load loads the log of a place and closes the directory.
func load(t testing.TB, p Location, o LoadOptions) (*lines, Loaded, error) {
	t.Helper()
	d, err := OpenDir(p)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	in := &lines{}
	got, err := d.Load(in, o)
	return in, got, err
}

// write writes a file durably.
func write(t testing.TB, files disk.FS, path, text string) {
	t.Helper()
	require.NoError(t, writeSynced(files, path, func(f disk.File) error {
		_, err := io.WriteString(f, text)
		return err
	}))
}

// content reads a file.
func content(t testing.TB, files disk.FS, path string) string {
	t.Helper()
	f, err := files.Open(path)
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return string(b)
}

// inFile returns the text of commands in a file.
func inFile(commands ...string) string {
	var b []byte
	for _, c := range commands {
		words := strings.Fields(c)
		b = resp.AppendArray(b, len(words))
		for _, w := range words {
			b = resp.AppendBulk(b, w)
		}
	}
	return string(b)
}

// manifestOf returns a manifest with these files: "b name", "i name", ...
func manifestOf(files ...string) string {
	var b strings.Builder
	for i, f := range files {
		kind, name, _ := strings.Cut(f, " ")
		fmt.Fprintf(&b, "file %s seq %d type %s\n", name, i+1, kind)
	}
	return b.String()
}

// logDisk returns a disk with a log directory that contains these files.
func logDisk(t testing.TB, files map[string]string) *lossy.Disk {
	t.Helper()
	d := lossy.New()
	_, err := d.MakeDir("log")
	require.NoError(t, err)
	for name, text := range files {
		write(t, d, name, text)
	}
	require.NoError(t, d.SyncDir("log"))
	require.NoError(t, d.SyncDir("."))
	return d
}
