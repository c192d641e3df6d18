package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"lockserver/tests/testkit"
)

// startSecure is start for a server that speaks TLS only; authClients is the value of tls-auth-clients.
func startSecure(t *testing.T, authClients string) *server {
	t.Helper()
	certificates := t.TempDir()
	out, err := exec.Command("bash", filepath.Join("..", "certificates.sh"), certificates).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s := &server{program: program(), dir: t.TempDir(), certificates: certificates, args: []string{
		"--tls-auth-clients", authClients, "--tls-ca-cert-file", filepath.Join(certificates, "ca.crt"),
		"--tls-cert-file", filepath.Join(certificates, "server.crt"), "--tls-key-file", filepath.Join(certificates, "server.key")}}
	if isRedis() { // the one that everything is compared with is built without TLS; the one in PATH has it
		s.program = "redis-server"
	}
	s.run(t, testkit.FreePort(t))
	return s
}

// tls returns the settings with which a client speaks with the server. certificate: the one that it shows,
// if it has one.
func (s *server) tls(t *testing.T, certificate, authority string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(filepath.Join(s.certificates, authority+".crt"))
	require.NoError(t, err)
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	require.True(t, c.RootCAs.AppendCertsFromPEM(pem))
	if certificate != "" {
		file := filepath.Join(s.certificates, certificate)
		pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
		require.NoError(t, err)
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}

// secureClient is a client of a library, as far as the tests of TLS and users need one.
type secureClient struct {
	do func(words ...string) (any, error)
	// listen hands messages of a channel over until the client is closed.
	listen func(channel string, heard chan<- string)
	close  func()
}

type secureLibrary struct {
	name    string
	connect func(addr string, protocol int, conf *tls.Config, user, password string) (secureClient, error)
}

var secureLibraries = []secureLibrary{{"go-redis", connectGoRedis}, {"rueidis", connectRueidis}}

func connectGoRedis(addr string, protocol int, conf *tls.Config, user, password string) (secureClient, error) {
	c := redis.NewClient(&redis.Options{Addr: addr, Protocol: protocol, TLSConfig: conf, Username: user, Password: password,
		ReadTimeout: patience, MaxRetries: -1})
	ctx := context.Background()
	return secureClient{
		do: func(words ...string) (any, error) {
			args := make([]any, len(words))
			for i, word := range words {
				args[i] = word
			}
			got, err := c.Do(ctx, args...).Result()
			if errors.Is(err, redis.Nil) {
				return nil, nil
			}
			return got, err
		},
		listen: func(channel string, heard chan<- string) {
			for m := range c.Subscribe(ctx, channel).Channel() {
				heard <- m.Payload
			}
		},
		close: func() { _ = c.Close() },
	}, c.Ping(ctx).Err()
}

func connectRueidis(addr string, protocol int, conf *tls.Config, user, password string) (secureClient, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, TLSConfig: conf, Username: user, Password: password,
		AlwaysRESP2: protocol == 2, DisableCache: protocol == 2, ConnWriteTimeout: patience, DisableRetry: true})
	if err != nil {
		return secureClient{close: func() {}}, err
	}
	ctx := context.Background()
	return secureClient{
		do: func(words ...string) (any, error) {
			got, err := c.Do(ctx, c.B().Arbitrary(words...).Build()).ToAny()
			if rueidis.IsRedisNil(err) {
				return nil, nil
			}
			return got, err
		},
		listen: func(channel string, heard chan<- string) {
			for { // it ends with the connection
				err := c.Receive(ctx, c.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { heard <- m.Message })
				if errors.Is(err, rueidis.ErrClosing) {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
		close: c.Close,
	}, nil
}

func eachSecureLibrary(t *testing.T, test func(t *testing.T, library secureLibrary, protocol int)) {
	for _, library := range secureLibraries {
		t.Run(library.name, func(t *testing.T) {
			protocols(t, func(t *testing.T, p int) { test(t, library, p) })
		})
	}
}

// ok sends a command that must succeed, and returns its reply.
func (c secureClient) ok(t *testing.T, words ...string) any {
	t.Helper()
	got, err := c.do(words...)
	require.NoError(t, err)
	return got
}

func TestTLS(t *testing.T) {
	for _, authClients := range []string{"no", "yes"} {
		t.Run("tls-auth-clients "+authClients, func(t *testing.T) {
			s := startSecure(t, authClients)
			certificate := map[string]string{"yes": "client"}[authClients]
			eachSecureLibrary(t, func(t *testing.T, library secureLibrary, p int) {
				secureStory(t, s, func() secureClient {
					c, err := library.connect(s.addr, p, s.tls(t, certificate, "ca"), "", "")
					require.NoError(t, err)
					t.Cleanup(c.close)
					return c
				})
			})
		})
	}
}

func secureStory(t *testing.T, s *server, connect func() secureClient) {
	c := connect()
	c.ok(t, "FLUSHALL")
	require.Equal(t, "OK", c.ok(t, "SET", "lock", "me", "NX", "PX", "60000"))
	require.Nil(t, c.ok(t, "SET", "lock", "you", "NX", "PX", "60000"))
	unlock := `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	require.EqualValues(t, 0, c.ok(t, "EVAL", unlock, "1", "lock", "you"))
	require.EqualValues(t, 1, c.ok(t, "EVAL", unlock, "1", "lock", "me"))
	big := strings.Repeat("x", 1_000_000)
	c.ok(t, "SET", "big", big)
	require.Equal(t, big, c.ok(t, "GET", "big"))
	heard := make(chan string, 1000)
	go connect().listen("news", heard)
	eventually(t, func() bool { return c.ok(t, "PUBLISH", "news", "hello") == int64(1) }, "it listens")
	require.Equal(t, "hello", <-heard)
	c.ok(t, "XGROUP", "CREATE", "orders", "workers", "0", "MKSTREAM")
	id := c.ok(t, "XADD", "orders", "*", "order", "1").(string)
	require.NotNil(t, c.ok(t, "XREADGROUP", "GROUP", "workers", "ann", "STREAMS", "orders", ">"))
	require.EqualValues(t, 1, c.ok(t, "XACK", "orders", "workers", id))

	s.replace(t)
	eventually(t, func() bool {
		got, err := c.do("SET", "k", "v")
		return err == nil && got == "OK"
	}, "it is connected again")
	eventually(t, func() bool { return c.ok(t, "PUBLISH", "news", "again") == int64(1) }, "it listens again")
	require.Equal(t, "again", <-heard)
}

func TestTLSRefuses(t *testing.T) {
	s := startSecure(t, "yes")
	eachSecureLibrary(t, func(t *testing.T, library secureLibrary, p int) {
		for _, conf := range []*tls.Config{
			s.tls(t, "client", "other"), // here the client refuses
			s.tls(t, "", "ca"),
			s.tls(t, "stranger", "ca"),
		} {
			c, err := library.connect(s.addr, p, conf, "", "")
			c.close()
			require.Error(t, err)
		}
	})
}
