//go:build oracle

package readme

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cli is a terminal that runs the real redis-cli.
type cli struct {
	process *exec.Cmd
	stdin   io.WriteCloser
	lines   chan string
	marks   int
}

func redisCLI(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatal("there is no redis-cli: run 'make deps'")
	}
	return path
}

func openCLI(t *testing.T, p *program) terminal {
	t.Helper()
	// --no-raw prints as on a terminal, although this is a pipe.
	c := &cli{process: exec.Command(redisCLI(t), "-p", strconv.Itoa(p.port(t)), "--no-raw"), lines: make(chan string, 1000)}
	var err error
	c.stdin, err = c.process.StdinPipe()
	require.NoError(t, err)
	out, err := c.process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.process.Start())
	go func() {
		defer close(c.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			c.lines <- in.Text() + "\n"
		}
	}()
	t.Cleanup(c.close)
	return c
}

func (c *cli) close() {
	_ = c.stdin.Close()
	_ = c.process.Process.Kill()
	_ = c.process.Wait()
}

func (c *cli) do(t *testing.T, command string) string {
	t.Helper()
	_, err := fmt.Fprintln(c.stdin, command)
	require.NoError(t, err)
	return c.finish(t)
}

// finish types one more command. Its reply shows where the previous reply ends.
func (c *cli) finish(t *testing.T) string {
	t.Helper()
	c.marks++
	mark := fmt.Sprintf("\"end-of-reply-%d\"\n", c.marks)
	_, err := fmt.Fprintf(c.stdin, "ECHO %s", mark)
	require.NoError(t, err)
	var got strings.Builder
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok || line == mark {
				return got.String()
			}
			got.WriteString(line)
		case <-deadline:
			t.Fatalf("redis-cli printed no more than %q", got.String())
		}
	}
}

func (c *cli) begin(t *testing.T, command string) {
	t.Helper()
	_, err := fmt.Fprintln(c.stdin, command)
	require.NoError(t, err)
}

func TestTranscriptsWithRedisCLI(t *testing.T) { playAll(t, openCLI, sellByShell) }

// sellByShell runs the README's line unchanged. redis-cli has no environment variable for the port, so a
// script with its name, which the shell finds first, adds it.
func sellByShell(t *testing.T, p *program, line string) string {
	t.Helper()
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' -p %d \"$@\"\n", redisCLI(t), p.port(t))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis-cli"), []byte(script), 0o755))
	shell := exec.Command("sh", "-c", line)
	shell.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}
