package costbench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"lockserver/tests/bench/benchkit"
)

// The targets for encrypted connections: CPU for each request as a share of Redis', without and with a
// pipeline of 16.
const encryptedSingle, encryptedPipelined = 1.15, 1.0

// encryptedCases lists the names of the cases that are measured over TLS.
var encryptedCases = []string{"PING", "SET", "GET", "EVALSHA-LOCK"}

// encrypted measures some cases over TLS, with a Redis that was built with TLS.
func (b *bench) encrypted(ctx context.Context) {
	b.Report.Text(fmt.Sprintf("## Encrypted connections\n\nAs above, over TLS 1.3 with a P-256 certificate, %d clients, medians of %d round(s).", clients, b.Rounds))
	own, err := b.withTLS()
	if err != nil {
		b.Report.Failed("encrypted connections", err)
		return
	}
	var rows [][]string
	for _, pipeline := range []int{1, 16} {
		requests, target := b.sizes.singles, encryptedSingle
		if pipeline > 1 {
			requests, target = b.sizes.pipelined, encryptedPipelined
		}
		for _, c := range cases() {
			if slices.Contains(encryptedCases, c.name) {
				rows = append(rows, b.encryptedRow(own.compare(ctx, c, requests, pipeline), pipeline, target))
			}
		}
	}
	b.Report.Table([]string{"command", "pipeline", "Redis req/s", "lockserver req/s", "Redis CPU µs", "lockserver CPU µs", "CPU ratio", "target"}, rows)
}

func (b *bench) encryptedRow(c comparison, pipeline int, target float64) []string {
	what := fmt.Sprintf("%s over TLS at P=%d", c.name, pipeline)
	if c.err != nil {
		b.Report.Failures = append(b.Report.Failures, benchkit.OneLine(what+": "+c.err.Error()))
		return []string{c.name, strconv.Itoa(pipeline), "", "", "", "", "", "could not run"}
	}
	redisRPS, oursRPS := c.rps.Medians()
	redisCPU, oursCPU := c.cpuUS.Medians()
	low, high := c.cpuUS.Spread()
	b.Report.AddPair(fmt.Sprintf("tls.%s.p%d.us", c.name, pipeline), redisCPU, oursCPU)
	mark := b.Report.AtMost("CPU of "+what, c.cpuUS.Ratio(), target, benchkit.Times)
	return []string{c.name, strconv.Itoa(pipeline), benchkit.Grouped(redisRPS), benchkit.Grouped(oursRPS), benchkit.Fixed(redisCPU, 2),
		benchkit.Fixed(oursCPU, 2), fmt.Sprintf("%s (%s-%s)", benchkit.Times(c.cpuUS.Ratio()), benchkit.Fixed(low, 2), benchkit.Fixed(high, 2)), mark}
}

// withTLS returns a bench with servers that also have an encrypted port, which redis-benchmark uses.
func (b *bench) withTLS() (*bench, error) {
	own := *b
	var err error
	if own.tools, err = findTools(besideWithTLS(b.tools.server)); err != nil {
		return nil, fmt.Errorf("%w, and then 'make oracle-tls'", err)
	}
	certFile, keyFile, err := selfSigned(b.Dir)
	if err != nil {
		return nil, err
	}
	own.pair[0].Path = own.tools.server
	for i := range own.pair {
		p := &own.pair[i]
		if p.securePort, err = benchkit.FreePort(); err != nil {
			return nil, err
		}
		p.Args = append(slices.Clone(p.Args), "--tls-port", strconv.Itoa(p.securePort), "--tls-cert-file", certFile, "--tls-key-file", keyFile,
			"--tls-auth-clients", "no")
	}
	return &own, nil
}

// besideWithTLS returns the path of a Redis with TLS from the same source as server. Its directory has the
// same name with -tls at the end.
func besideWithTLS(server string) string {
	root, src := filepath.Dir(filepath.Dir(server)), filepath.Base(filepath.Dir(server))
	return filepath.Join(root+"-tls", src, filepath.Base(server))
}

// selfSigned creates a key and a certificate, which no client has to trust.
func selfSigned(dir string) (certFile, keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	certFile, keyFile = filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key")
	if err = os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err == nil {
		err = os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
	}
	return certFile, keyFile, err
}
