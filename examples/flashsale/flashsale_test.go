package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockserver/server"
)

// soon limits the time that a test waits for an event.
const soon = 90 * time.Second

// stage is a shop with its own server and database.
type stage struct {
	t        *testing.T
	addr     string
	client   *redis.Client
	file     string
	database *Database
	shop     *httptest.Server
}

func newStage(t *testing.T, stock int) *stage {
	t.Helper()
	log.SetOutput(io.Discard)
	srv, err := server.New(server.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = srv.Close() })
	require.NoError(t, srv.Start())
	s := &stage{t: t, addr: srv.Addr().String(), file: filepath.Join(t.TempDir(), "shop.db")}
	s.client = s.newClient()
	s.database, err = OpenDatabase(s.file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.database.Close()) })
	s.shop = httptest.NewServer(NewShop(s.client, s.database))
	t.Cleanup(s.shop.Close)
	require.NoError(t, OpenSale(t.Context(), s.client, "10", stock))
	return s
}

func (s *stage) newClient() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// ask sends a request as a user and returns the status and the answer.
func (s *stage) ask(user, method, path string) (int, map[string]string) {
	r, err := http.NewRequestWithContext(context.Background(), method, s.shop.URL+path, nil)
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-User", user)
	resp, err := s.shop.Client().Do(r)
	if err != nil {
		return 0, map[string]string{"reason": err.Error()}
	}
	defer resp.Body.Close()
	body := make(map[string]string)
	_ = json.NewDecoder(resp.Body).Decode(&body)
	return resp.StatusCode, body
}

// number requests a number for an order.
func (s *stage) number() string {
	status, body := s.ask("", "POST", "/orders")
	require.Equal(s.t, http.StatusCreated, status, body)
	return body["order"]
}

// sell sells to n users, numbered from first on; each places one order. It returns the numbers of the orders.
func (s *stage) sell(first, n int) (ids []string) {
	for i := range n {
		id := s.number()
		status, body := s.ask(fmt.Sprint("user-", first+i), "PUT", "/sales/10/orders/"+id)
		require.Equal(s.t, http.StatusAccepted, status, body)
		ids = append(ids, id)
	}
	return ids
}

// worker starts a worker. It ends with the test, or when stop is called.
func (s *stage) worker(name string, takeOver time.Duration, hooks ...redis.Hook) (stop func() error) {
	client := s.newClient()
	for _, h := range hooks {
		client.AddHook(h)
	}
	w := &Worker{Redis: client, Database: s.database, Name: name, TakeOverAfter: takeOver}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			if len(hooks) == 0 {
				cancel()
			}
			err = <-done
			cancel()
		})
		return err
	}
	if len(hooks) == 0 {
		s.t.Cleanup(func() { _ = stop() })
	}
	return stop
}

// drained waits until every order is acknowledged, and reconciles the books.
func (s *stage) drained(orders int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		groups, err := s.client.XInfoGroups(s.t.Context(), ordersStream).Result()
		return err == nil && len(groups) == 1 && groups[0].Lag == 0 && groups[0].Pending == 0
	}, soon, 5*time.Millisecond)
	books, err := Reconcile(s.t.Context(), s.client, s.database, "10")
	require.NoError(s.t, err)
	require.True(s.t, books.Balanced(), books)
	require.Equal(s.t, orders, books.Rows)
	rejects, err := s.database.Rejects(s.t.Context())
	require.NoError(s.t, err)
	require.Empty(s.t, rejects)
}

// errKilled is the error of a killed worker's connection.
var errKilled = errors.New("killed")

// killer is a hook that kills its client just before it sends the command with this name.
type killer string

func (k killer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (k killer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == string(k) {
			return errKilled
		}
		return next(ctx, cmd)
	}
}

func (k killer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestFromTheClickToTheDatabase: more users than pieces click at the same time, each of them twice, with two
// workers.
func TestFromTheClickToTheDatabase(t *testing.T) {
	const stock, users = 40, 200
	s := newStage(t, stock)
	s.worker("a", time.Minute)
	s.worker("b", time.Minute)
	var all sync.WaitGroup
	var mu sync.Mutex
	accepted := make(map[string]string) // order by user
	for u := range users {
		all.Go(func() {
			user := fmt.Sprint("user-", u)
			status, body := s.ask(user, "POST", "/orders")
			if status != http.StatusCreated {
				t.Errorf("%d %v", status, body)
				return
			}
			id := body["order"]
			first, _ := s.ask(user, "PUT", "/sales/10/orders/"+id)
			again, body := s.ask(user, "PUT", "/sales/10/orders/"+id)
			if first != again {
				t.Errorf("the same click was answered %d, then %d %v", first, again, body)
			}
			switch first {
			case http.StatusAccepted:
				mu.Lock()
				accepted[user] = id
				mu.Unlock()
			case http.StatusConflict:
			default:
				t.Errorf("%d %v", first, body)
			}
		})
	}
	all.Wait()
	require.Len(t, accepted, stock)
	s.drained(stock)
	orders, err := s.database.Orders(t.Context(), "10")
	require.NoError(t, err)
	for user, id := range accepted {
		require.Equal(t, Order{ID: id, User: user, Voucher: "10"}, orders[id])
		status, body := s.ask(user, "GET", "/orders/"+id)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, map[string]string{"order": id, "voucher": "10"}, body)
	}
}

func TestWhatTheShopAnswers(t *testing.T) {
	s := newStage(t, 2)
	ann, ben, eve := s.number(), s.number(), s.number()
	require.Less(t, ann, ben, "numbers rise")
	for _, c := range []struct {
		user, method, path string
		status             int
		body               map[string]string
	}{
		{"", "PUT", "/sales/10/orders/" + ann, http.StatusUnauthorized, map[string]string{"reason": "who are you?"}},
		{"ann", "PUT", "/sales/11/orders/" + ann, http.StatusNotFound, map[string]string{"reason": "no such sale"}},
		{"ann", "PUT", "/sales/10/orders/" + ann, http.StatusAccepted, map[string]string{"order": ann}},
		{"ann", "PUT", "/sales/10/orders/" + ann, http.StatusAccepted, map[string]string{"order": ann}},
		{"eve", "PUT", "/sales/10/orders/" + ann, http.StatusForbidden, map[string]string{"reason": "not your order"}},
		{"ann", "PUT", "/sales/10/orders/" + eve, http.StatusConflict, map[string]string{"reason": "bought already"}},
		{"ben", "PUT", "/sales/10/orders/" + ben, http.StatusAccepted, map[string]string{"order": ben}},
		{"eve", "PUT", "/sales/10/orders/" + eve, http.StatusConflict, map[string]string{"reason": "sold out"}},
		{"ann", "GET", "/orders/" + ann, http.StatusNotFound, map[string]string{"reason": "no such order yet"}},
	} {
		status, body := s.ask(c.user, c.method, c.path)
		require.Equal(t, c.status, status, c)
		require.Equal(t, c.body, body, c)
	}
	s.worker("a", time.Minute)
	s.drained(2)
	status, _ := s.ask("ann", "GET", "/orders/"+ann)
	require.Equal(t, http.StatusOK, status)
	status, _ = s.ask("eve", "GET", "/orders/"+ann)
	require.Equal(t, http.StatusNotFound, status, "it is not hers")

	require.NoError(t, s.client.Do(t.Context(), "SECKILL.CREATE", "soon", "STOCK", 1, "START", time.Now().Add(time.Hour).UnixMilli()).Err())
	require.NoError(t, s.client.Do(t.Context(), "SECKILL.CREATE", "late", "STOCK", 1, "END", 1).Err())
	_, body := s.ask("ann", "PUT", "/sales/soon/orders/"+eve)
	require.Equal(t, "not started", body["reason"])
	_, body = s.ask("ann", "PUT", "/sales/late/orders/"+eve)
	require.Equal(t, "over", body["reason"])

	require.NoError(t, s.client.Do(t.Context(), "SECKILL.CANCEL", 10, "ann", ann).Err())
	status, body = s.ask("ann", "PUT", "/sales/10/orders/"+ann)
	require.Equal(t, http.StatusGone, status)
	require.Equal(t, "taken back", body["reason"])
	status, _ = s.ask("ann", "PUT", "/sales/10/orders/"+s.number())
	require.Equal(t, http.StatusAccepted, status, "with a new number she may buy again")

	require.NoError(t, OpenSale(t.Context(), s.client, "10", 500), "a sale that is there stays as it is")
	require.Equal(t, "0", s.client.Get(t.Context(), "seckill:stock:10").Val())
	require.NoError(t, s.client.Close())
	status, body = s.ask("ann", "PUT", "/sales/10/orders/"+ann)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "try again", body["reason"])
}
