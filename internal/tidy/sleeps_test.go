package tidy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// virtualTime are the packages in which tests sleep in virtual time (synctest), also in functions that stand
// outside of the bubble's.
var virtualTime = []string{"tests/client", "tests/simulation", "server/raft/engine"}

// fixedSleeps are the functions of tests that sleep outside of a loop that waits for a condition, by the
// reason why no outcome depends on what happens within that time.
var fixedSleeps = map[string][]string{
	"the time passes on a clock that is not the test's, or on the real one beside a server's own clock, and the test needs no more than that it has passed": {
		"client.ExampleLock_Guard", "server.TestBusyTimeStands", "server.TestClockAdvances", "server.TestEventsOfTheDiskAndTheCollector", "tests/differential.dying",
		"tests/differential.isStep", "tests/differential.playFigures", "tests/differential.playLazy", "tests/hostile.step", "tests/raft.TestReadsFromFollowersAreNotTooOld",
		"tests/raft.TestTimesOfAGroup", "tests/raft.TestUpgradeOfTheHistory",
	},
	"it moves an event to another moment of what runs beside it, and any moment will do": {
		"server.TestBusyClientSendsOn", "server.TestCounterOverSeveralLoops", "server.TestFlowOfManyClients", "server.TestOneByteAtATime", "server.TestWaiterGoesAsTheLockIsReleased",
		"server.round", "server.turmoil", "tests/crash.load", "tests/differential.exchange", "tests/restarts.tokens",
	},
	"it keeps a lock for a moment, so that others meet it": {"tests/bench/lockbench.write", "tests/migration.locked", "tests/readme.Example_withLock"},
	"it is a pause between two attempts, in a loop of the callers or a bounded one": {
		"examples/locks.TestPausedWorker", "tests/clients/go.begin", "tests/differential.finalDiff", "tests/differential.step", "tests/replication.ask", "tests/replication.send",
	},
	"how long something takes on a network that is cut is the subject": {
		"tests/vanish.TestAGroupThatIsCut", "tests/vanish.TestAWaiterWhoVanished", "tests/vanish.TestTheLockOfAHolderWhoVanished",
	},
}

// TestNoFixedSleeps: a test that sleeps and then expects something depends on the speed of the machine. It
// waits for a condition, in a loop, or it owns the clock.
func TestNoFixedSleeps(t *testing.T) {
	var want []string
	for _, functions := range fixedSleeps {
		want = append(want, functions...)
	}
	slices.Sort(want)
	var got []string
	for _, s := range sources(t) {
		dir := strings.TrimPrefix(s.pkg, module+"/")
		if !s.test || slices.Contains(virtualTime, dir) {
			continue
		}
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			for _, call := range sleepsIn(f.Body) {
				name := dir + "." + f.Name.Name
				require.Contains(t, want, name, "%s: wait for a condition, or own the clock", s.fset.Position(call.Pos()))
				got = append(got, name)
			}
		}
	}
	slices.Sort(got)
	require.Equal(t, want, slices.Compact(got), "these sleep no more")
}

// sleepsIn returns the calls of time.Sleep in a body, except those in a for loop and in bubbles of synctest.
// Sleeps for a time that a function computes are left out, too. A function literal in a loop has loops of its
// own.
func sleepsIn(body ast.Node) (found []*ast.CallExpr) {
	var visit, inLoop func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			ast.Inspect(n, inLoop)
			return false
		case *ast.CallExpr:
			switch calledName(n) {
			case "synctest.Test":
				return false
			case "time.Sleep":
				if !computed(n.Args[0]) {
					found = append(found, n)
				}
			}
		}
		return true
	}
	inLoop = func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			ast.Inspect(f.Body, visit)
			return false
		}
		return true
	}
	ast.Inspect(body, visit)
	return found
}

// computed reports whether a function is called for an expression.
func computed(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && calledName(call) != "time.Duration" {
			found = true
		}
		return !found
	})
	return found
}

// calledName is the name of a function of a package that is called, such as time.Sleep.
func calledName(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + sel.Sel.Name
}
