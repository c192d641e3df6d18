package costbench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"lockserver/tests/bench/benchkit"
)

// clients is the number of busy connections in every load.
const clients = 50

// value is the value of all keys: 64 different bytes, so that neither server's snapshot compresses it.
const value = "k7QxZ2mB-vR9sLdW0aTfYh4JgNcE_pU8iOy3KwXbM6GqSzHt5VnCrDlAeFjI1uPo"

const valueBytes = len(value)

// setKeys sets key:000000000000 and so on, of 16 bytes each, to values of 64 bytes.
func setKeys() benchkit.Traffic {
	return benchkit.Traffic{Want: benchkit.Always("+OK"), Append: func(b []byte, n int) []byte {
		return benchkit.Command(b, 3).Arg("SET").Numbered("key:", n, "").Arg(value)
	}}
}

// run runs redis-benchmark with a command and returns its requests per second. keys is the range of
// __rand_int__.
func (t tools) run(ctx context.Context, s *server, command []string, requests, pipeline, keys int) (float64, error) {
	port, how := s.Port, []string(nil)
	if s.product.securePort != 0 {
		port, how = s.product.securePort, []string{"--tls", "--insecure"}
	}
	if s.product.user != "" {
		how = append(how, "--user", s.product.user, "-a", "any")
	}
	args := []string{"-h", "127.0.0.1", "-p", strconv.Itoa(port), "-c", strconv.Itoa(clients),
		"-n", strconv.Itoa(requests), "-P", strconv.Itoa(pipeline), "-r", strconv.Itoa(keys), "--csv"}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, t.benchmark, slices.Concat(how, args, command)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("redis-benchmark %s: %w: %s", command[0], err, strings.TrimSpace(stderr.String()+stdout.String()))
	}
	return parseBenchmark(stdout.String())
}

// parseBenchmark parses the requests per second in the output of redis-benchmark --csv.
func parseBenchmark(out string) (float64, error) {
	r := csv.NewReader(strings.NewReader(out))
	r.FieldsPerRecord = -1
	r.LazyQuotes = true // redis-benchmark does not escape quotes in a command
	rows, err := r.ReadAll()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark printed %q: %w", out, err)
	}
	for i, row := range rows {
		if i > 0 && len(rows[i-1]) > 1 && rows[i-1][1] == "rps" && len(row) > 1 {
			return strconv.ParseFloat(row[1], 64)
		}
	}
	return 0, errors.New("redis-benchmark printed no requests per second: " + out)
}
