package testkit

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// builtIn is the environment variable for the directory of the programs that this test binary has built. The
// processes that it starts share the directory.
const builtIn = "LOCKSERVER_TESTKIT_BUILT"

// Main runs the tests of a package that calls Lockserver: TestMain is os.Exit(testkit.Main(m.Run)). It
// removes the programs that the tests have built.
func Main(run func() int) int {
	dir, err := os.MkdirTemp("", "testkit")
	if err == nil {
		err = os.Setenv(builtIn, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	collectLess()
	return run()
}

// collectLess makes the garbage collector run a quarter as often in this test binary. The binary ends before
// garbage fills the memory. GOGC in the environment sets another percentage.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// ManyAtOnce runs eight parallel tests at a time, unless the command line sets the number. It is meant for
// packages in which tests mostly wait. The garbage collector runs less often, as in packages that call Main.
func ManyAtOnce() {
	collectLess()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if f := flag.Lookup("test.parallel"); f != nil && !given {
		_ = f.Value.Set("8") // it is a number
	}
}

// Lockserver returns the path of the server program: the path in LOCKSERVER, or a program that the first call
// in a test binary builds from the source.
func Lockserver(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("LOCKSERVER"); path != "" {
		found, err := exec.LookPath(path)
		require.NoError(t, err, "LOCKSERVER")
		found, err = filepath.Abs(found) // the program runs in another directory
		require.NoError(t, err)
		return found
	}
	path, err := build()
	require.NoError(t, err)
	return path
}

var build = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(builtIn)
	if dir == "" {
		return "", errors.New("TestMain of this package does not call testkit.Main")
	}
	name := "lockserver"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if err := BuildLockserver(path); err != nil {
		return "", fmt.Errorf("build the program: %w", err)
	}
	return path, nil
})

// BuildLockserver builds the server program with go build and flags, and puts it at path. The program itself
// is in the directory bin/testkit, which all test binaries of a checkout use. If the build ID of the existing
// file is up to date, the go command does not link it again: only the first test binary waits for the linker.
// A later build replaces the file in bin/testkit, and path stays as it is.
func BuildLockserver(path string, flags ...string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	shared := filepath.Join(root, "bin", "testkit")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return err
	}
	defer inTurn(root)()
	built := filepath.Join(shared, "lockserver"+filepath.Ext(path))
	if len(flags) > 0 { // other flags make another file
		sum := fnv.New32a()
		_, _ = fmt.Fprint(sum, flags)
		built = filepath.Join(shared, fmt.Sprintf("lockserver-%08x%s", sum.Sum32(), filepath.Ext(path)))
	}
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", built}, flags, []string{"./cmd/lockserver"})...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if os.Link(built, path) == nil {
		return nil
	}
	program, err := os.ReadFile(built) // temporary files are on another file system
	if err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o755)
}

// inTurn waits until no other test binary builds the program of this checkout, and returns a function that
// lets the next test binary build. The lock is a UDP port that follows from the name of the checkout. A port
// is free when the process that holds it has ended. If an unrelated program has the port, the build starts
// after two minutes: it may then happen twice.
func inTurn(root string) (done func()) {
	name := fnv.New32a()
	_, _ = name.Write([]byte(root))
	address := fmt.Sprintf("127.0.0.1:%d", 11000+name.Sum32()%1000)
	for began := time.Now(); time.Since(began) < 2*time.Minute; time.Sleep(20 * time.Millisecond) {
		if lock, err := net.ListenPacket("udp", address); err == nil {
			return func() { _ = lock.Close() }
		}
	}
	return func() {}
}

// moduleRoot returns the directory of this module. The test's own directory may belong to a nested module.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "lockserver")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the test does not run inside of the repository")
		}
		dir = filepath.Dir(dir)
	}
}

// FreePort returns a port for a program that cannot choose a port by itself, or needs the same port again. It
// is below the ports that the system gives to connections, so no connection takes it while the program is
// down. Until the test ends its UDP port is taken, so that no other test on this machine gets the same.
func FreePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(12000 + rand.IntN(20000))
		reserved, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			require.NoError(t, l.Close())
			t.Cleanup(func() { _ = reserved.Close() })
			return port
		}
		_ = reserved.Close()
	}
	require.Fail(t, "there is no free port")
	return ""
}

// FreePorts returns the first of n free ports in a row, as FreePort does.
func FreePorts(t testing.TB, n int) (first int) {
	t.Helper()
	for range 100 {
		first, err := strconv.Atoi(FreePort(t))
		require.NoError(t, err)
		free := 1
		for ; free < n; free++ {
			at := "127.0.0.1:" + strconv.Itoa(first+free)
			reserved, err := net.ListenPacket("udp", at)
			if err != nil {
				break
			}
			t.Cleanup(func() { _ = reserved.Close() })
			l, err := net.Listen("tcp", at)
			if err != nil {
				break
			}
			require.NoError(t, l.Close())
		}
		if free == n {
			return first
		}
	}
	require.Fail(t, "there are no free ports in a row")
	return 0
}

// ClusterPort returns a free port, where the port that is 10,000 higher is free, too: a Redis Cluster uses
// both. Both are below the ports that the system gives to connections, and no other test gets them.
func ClusterPort(t testing.TB) int {
	t.Helper()
	for {
		port, err := strconv.Atoi(FreePort(t))
		require.NoError(t, err)
		if port >= 22_000 {
			continue
		}
		bus := "127.0.0.1:" + strconv.Itoa(port+10_000)
		reserved, err := net.ListenPacket("udp", bus)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = reserved.Close() })
		if l, err := net.Listen("tcp", bus); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
}
