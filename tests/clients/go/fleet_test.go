package clients

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fleet is servers with a leader, run by the program in tests/fleet/serve. It has three Sentinels, or a raft
// group, which clients see as the nodes of a cluster or as Sentinels.
type fleet struct {
	Name      string
	Sentinels []string
	Nodes     []string

	t        *testing.T
	commands io.WriteCloser
	answers  *bufio.Scanner
}

// startFleet runs programs; the first one leads. The lines of conf are for lockservers.
func startFleet(t *testing.T, conf []string, programs ...string) *fleet {
	t.Helper()
	return runFleet(t, conf, programs...)
}

// startGroup runs three members of a raft group. Its clients see a "cluster", or find the leader by a
// "sentinel".
func startGroup(t *testing.T, clients string, conf ...string) *fleet {
	t.Helper()
	return runFleet(t, conf, "-group", clients, program(), program(), program())
}

func runFleet(t *testing.T, conf []string, words ...string) *fleet {
	t.Helper()
	path := filepath.Join("..", "..", "..", "bin", "fleet")
	require.FileExists(t, path, "run 'make fleet'")
	var args []string
	for _, line := range conf {
		args = append(args, "-conf", line)
	}
	f, cmd := &fleet{t: t}, exec.Command(path, append(args, words...)...)
	var err error
	f.commands, err = cmd.StdinPipe()
	require.NoError(t, err)
	answers, err := cmd.StdoutPipe()
	require.NoError(t, err)
	f.answers = bufio.NewScanner(answers)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = f.commands.Close() // ends all processes
		_ = cmd.Wait()
	})
	f.read()
	return f
}

// do is "kill", "pause" or "plan", and then "mend"; in the end "same". It returns who leads then.
func (f *fleet) do(command string) (leader string) {
	f.t.Helper()
	_, err := io.WriteString(f.commands, command+"\n")
	require.NoError(f.t, err)
	return f.read()
}

func (f *fleet) read() (leader string) {
	f.t.Helper()
	var answer struct {
		*fleet
		Leader, Error string
	}
	answer.fleet = f
	require.True(f.t, f.answers.Scan(), "the fleet has ended")
	require.NoError(f.t, json.Unmarshal(f.answers.Bytes(), &answer))
	require.Empty(f.t, answer.Error)
	return answer.Leader
}
