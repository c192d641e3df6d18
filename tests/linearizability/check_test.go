package linearizability

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// errUndecided says that the checker neither found an order nor showed that there is none.
var errUndecided = errors.New("the checker came to no result")

// checkPatience is how long the checker may look for an order. It needs milliseconds; if it has not found
// one, nor shown that there is none, by then, the history is undecided. A run may have at most a few of these
// in a hundred: what many operations of unknown outcome at one moment allow is too much to try.
const checkPatience = 10 * time.Second

// explainPatience is how long it may look for the longest order of a history that has none.
const explainPatience = 5 * time.Second

// violation is a history that no lock could have produced.
type violation struct {
	world *world
	model porcupine.Model
	ops   []porcupine.Operation
	text  string // what explain found out
}

func (v *violation) Error() string {
	return fmt.Sprintf("%s: not a lock's history.\n%s", v.world, v.text)
}

// check lets a world happen and holds its history against the model.
func check(w *world) error {
	w.live()
	if w.err != nil {
		return fmt.Errorf("%s: %w", w, w.err)
	}
	m := w.model().porcupine()
	ops := w.operations()
	began := time.Now()
	result := porcupine.CheckOperationsTimeout(m, ops, checkPatience)
	w.checked = time.Since(began)
	switch result {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("%s: %w about %d operations in %s", w, errUndecided, len(ops), checkPatience)
	}
	return &violation{world: w, model: m, ops: ops}
}

// explain finds out what is wrong with the history: it takes seconds.
func (v *violation) explain(pictures bool) {
	small := shrinkHistory(v.model, v.ops)
	_, info := porcupine.CheckOperationsVerbose(v.model, small.ops, explainPatience)
	v.text = small.text + explain(v.model, small.ops, info)
	if pictures {
		_, info := porcupine.CheckOperationsVerbose(v.model, v.ops, explainPatience)
		v.text += picture(v.model, info, v.world.seed)
	}
}

// explain tells how far the longest order gets, and what could not come next.
func explain(m porcupine.Model, ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	placed := make(map[*operation]bool)
	state := m.Init()
	for _, op := range longest {
		placed[op.Input.(*operation)] = true
		_, state = m.Step(state, op.Input, nil)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d operations can be put in order; the last of them:\n", len(longest), len(ops))
	for _, op := range longest[max(0, len(longest)-12):] {
		fmt.Fprintf(&b, "  %s\n", op.Input)
	}
	fmt.Fprintf(&b, "then: %s\nbut none of these can come next:\n", m.DescribeState(state))
	firstReturn := ever
	for _, op := range ops {
		if !placed[op.Input.(*operation)] {
			firstReturn = min(firstReturn, op.Return)
		}
	}
	for _, op := range ops {
		if !placed[op.Input.(*operation)] && op.Call <= firstReturn {
			fmt.Fprintf(&b, "  %s\n", op.Input)
		}
	}
	return b.String()
}

// picture draws the history beside the other temporary files and says where.
func picture(m porcupine.Model, info porcupine.LinearizationInfo, seed uint64) string {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("linearizability-%d.html", seed))
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		return fmt.Sprintf("(no picture: %v)\n", err)
	}
	return fmt.Sprintf("a picture of the whole: %s\n", path)
}
