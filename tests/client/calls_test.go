package client_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockserver/client"
)

// subject holds the objects that calls are tried on: a client, and a lock and permits with a lease.
type subject struct {
	*client.Client
	lock   *client.Lock
	permit *client.Permit
}

// subjectOf returns the subject of a client.
func subjectOf(t *testing.T, c *client.Client) subject {
	t.Helper()
	l, err := c.Lock(ctx, "k", client.Lease(24*time.Hour))
	require.NoError(t, err)
	p, err := c.Semaphore("permits", 1).Acquire(ctx, client.Lease(24*time.Hour))
	require.NoError(t, err)
	return subject{c, l, p}
}

// buy is BuyCart without its result.
func buy(ctx context.Context, s subject, parts []client.CartPart) error {
	_, _, err := s.BuyCart(ctx, "u", "o", parts)
	return err
}

// rate is a rate that is allowed.
var rate = client.Rate{Burst: 1, Count: 1, Period: time.Second}

// asking has each call of the package that asks the server, by its name.
func asking() map[string]func(ctx context.Context, s subject) error {
	return map[string]func(ctx context.Context, s subject) error{
		"Client.Lock":        func(ctx context.Context, s subject) error { return second(s.Lock(ctx, "other")) },
		"Client.TryLock":     func(ctx context.Context, s subject) error { return second(s.TryLock(ctx, "other")) },
		"Client.RLock":       func(ctx context.Context, s subject) error { return second(s.RLock(ctx, "other")) },
		"Client.MLock":       func(ctx context.Context, s subject) error { return second(s.MLock(ctx, []string{"a", "b"})) },
		"Client.Info":        func(ctx context.Context, s subject) error { return third(s.Info(ctx, "other")) },
		"Client.Locked":      func(ctx context.Context, s subject) error { return second(s.Locked(ctx, "other")) },
		"Client.ForceUnlock": func(ctx context.Context, s subject) error { return second(s.ForceUnlock(ctx, "k")) },
		"Client.Campaign": func(ctx context.Context, s subject) error {
			return s.Campaign(ctx, "other", func(context.Context) error { return nil })
		},
		"Client.TakeLimits": func(ctx context.Context, s subject) error {
			return second(s.TakeLimits(ctx, []client.Limiter{s.Limiter("l", rate), s.Limiter("m", rate)}))
		},
		"Client.WaitLimits": func(ctx context.Context, s subject) error {
			return second(s.WaitLimits(ctx, []client.Limiter{s.Limiter("l", rate), s.Limiter("m", rate)}))
		},
		"Lock.Unlock":          func(ctx context.Context, s subject) error { return s.lock.Unlock(ctx) },
		"Lock.Renew":           func(ctx context.Context, s subject) error { return s.lock.Renew(ctx, time.Hour) },
		"Lock.Guard":           func(ctx context.Context, s subject) error { return second(s.lock.Guard(ctx, "SET", "a", 1)) },
		"Permit.Release":       func(ctx context.Context, s subject) error { return s.permit.Release(ctx) },
		"Permit.Renew":         func(ctx context.Context, s subject) error { return s.permit.Renew(ctx, time.Hour) },
		"Permit.Guard":         func(ctx context.Context, s subject) error { return second(s.permit.Guard(ctx, "SET", "a", 1)) },
		"Semaphore.Acquire":    func(ctx context.Context, s subject) error { return second(s.Semaphore("s", 1).Acquire(ctx)) },
		"Semaphore.TryAcquire": func(ctx context.Context, s subject) error { return second(s.Semaphore("s", 1).TryAcquire(ctx)) },
		"Semaphore.Resize":     func(ctx context.Context, s subject) error { return second(s.Semaphore("s", 1).Resize(ctx, 2)) },
		"Semaphore.Info":       func(ctx context.Context, s subject) error { return third(s.Semaphore("s", 1).Info(ctx)) },
		"Limiter.Take":         func(ctx context.Context, s subject) error { return second(s.Limiter("l", rate).Take(ctx)) },
		"Limiter.Give":         func(ctx context.Context, s subject) error { return second(s.Limiter("l", rate).Give(ctx)) },
		"Limiter.Wait":         func(ctx context.Context, s subject) error { return second(s.Limiter("l", rate).Wait(ctx)) },
		"Latch.Set":            func(ctx context.Context, s subject) error { return second(s.Latch("latch").Set(ctx, 1)) },
		"Latch.Count":          func(ctx context.Context, s subject) error { return second(s.Latch("latch").Count(ctx)) },
		"Latch.Down":           func(ctx context.Context, s subject) error { return second(s.Latch("latch").Down(ctx)) },
		"Latch.Wait":           func(ctx context.Context, s subject) error { return s.Latch("latch").Wait(ctx) },
		"Sale.Create": func(ctx context.Context, s subject) error {
			return second(s.Sale("v").Create(ctx, client.Terms{Stock: 1}))
		},
		"Sale.Info":    func(ctx context.Context, s subject) error { return third(s.Sale("v").Info(ctx)) },
		"Sale.Buy":     func(ctx context.Context, s subject) error { return second(s.Sale("v").Buy(ctx, "u", "o")) },
		"Sale.Confirm": func(ctx context.Context, s subject) error { return second(s.Sale("v").Confirm(ctx, "u", "o")) },
		"Sale.Cancel":  func(ctx context.Context, s subject) error { return second(s.Sale("v").Cancel(ctx, "u", "o")) },
		"Sale.CancelPart": func(ctx context.Context, s subject) error {
			return second(s.Sale("v").CancelPart(ctx, "u", "o", 1))
		},
		"Sale.Extend": func(ctx context.Context, s subject) error {
			return second(s.Sale("v").Extend(ctx, "u", "o", time.Minute))
		},
		"Client.BuyCart": func(ctx context.Context, s subject) error {
			return buy(ctx, s, []client.CartPart{{Voucher: "v", Pieces: 1}})
		},
		"Client.Ask": func(ctx context.Context, s subject) error { return second(s.Ask(ctx, "k", "why")) },
		"Delay.Add": func(ctx context.Context, s subject) error {
			return third(s.Delay("d").Add(ctx, "i", client.After(0), "a", "b"))
		},
		"Delay.AddRecurring": func(ctx context.Context, s subject) error {
			return third(s.Delay("d").AddRecurring(ctx, "i", client.Rule{Every: time.Hour}, "a", "b"))
		},
		"Delay.Cancel": func(ctx context.Context, s subject) error { return second(s.Delay("d").Cancel(ctx, "i")) },
		"Delay.Move": func(ctx context.Context, s subject) error {
			return second(s.Delay("d").Move(ctx, "i", client.After(0)))
		},
		"Delay.Get":   func(ctx context.Context, s subject) error { return third(s.Delay("d").Get(ctx, "i")) },
		"Delay.List":  func(ctx context.Context, s subject) error { return second(s.Delay("d").List(ctx, time.Time{}, 0)) },
		"Delay.Count": func(ctx context.Context, s subject) error { return second(s.Delay("d").Count(ctx)) },
		"Worker.Run":  workFor,
	}
}

// workFor is Worker.Run.
func workFor(ctx context.Context, s subject) error {
	w, err := s.Worker(client.Work{Stream: "stream", Group: "g", Handle: func(context.Context, client.Entry) error { return nil }})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// askNothing are the calls with a context that ask no server, with the reason.
var askNothing = map[string]string{
	"Client.Task":   "it makes a context",
	"Client.Locker": "its Lock and Unlock are Client.Lock and Lock.Unlock, and have no result",
	"Lock.Fence":    "it asks a database",
	"Entry.Once":    "it asks a database",
}

// declared is a function or a method of the package that programs can call.
type declared struct {
	name   string // "Client.Lock"
	params []ast.Expr
}

// published returns the functions and methods of the package, but for those of the interfaces of other
// packages: String, Error, Is.
func published(t *testing.T) (calls []declared) {
	t.Helper()
	const at = "../../client"
	files, err := os.ReadDir(at)
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), at+"/"+file.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || slices.Contains([]string{"String", "Error", "Is"}, f.Name.Name) {
				continue
			}
			one := declared{name: f.Name.Name}
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				if !of.(*ast.Ident).IsExported() {
					continue
				}
				one.name = of.(*ast.Ident).Name + "." + one.name
			}
			for _, p := range f.Type.Params.List {
				for range max(1, len(p.Names)) {
					one.params = append(one.params, p.Type)
				}
			}
			calls = append(calls, one)
		}
	}
	require.Greater(t, len(calls), 50)
	return calls
}

// hasContext reports whether the first parameter is a context.
func (d declared) hasContext() bool {
	if len(d.params) == 0 {
		return false
	}
	of, ok := d.params[0].(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Context"
}

// TestEveryCallIsTried: the table asking has every call that asks the server, and TestBadValues gives bad
// values to every call that takes values.
func TestEveryCallIsTried(t *testing.T) {
	var asks, takes []string
	for _, d := range published(t) {
		if d.hasContext() && askNothing[d.name] == "" {
			asks = append(asks, d.name)
		}
		if values := len(d.params); (values > 1 || values == 1 && !d.hasContext()) && anyValue[d.name] == "" {
			takes = append(takes, d.name)
		}
	}
	require.ElementsMatch(t, asks, slices.Collect(maps.Keys(asking())))
	tried := make(map[string]bool)
	for what := range badValues() {
		name, _, _ := strings.Cut(what, ": ")
		tried[name] = true
	}
	for _, name := range badSettings() {
		tried[name.call] = true
	}
	require.ElementsMatch(t, takes, slices.Collect(maps.Keys(tried)))
}
