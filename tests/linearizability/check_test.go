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

// errUndecided means that the checker neither found an order nor showed that none exists.
var errUndecided = errors.New("the checker came to no result")

// checkPatience is how long the checker may search for an order. It usually needs milliseconds. If it has no
// result by then, the history is undecided. In a run at most a few of a hundred histories may be: many
// operations of unknown outcome at one moment allow too many orders to try.
const checkPatience = 10 * time.Second

// explainPatience is how long the checker may search for the longest order of a wrong history.
const explainPatience = 5 * time.Second

// violation is a history that no correct lock could have produced.
type violation struct {
	world *world
	model porcupine.Model
	ops   []porcupine.Operation
	text  string // the result of explain
}

func (v *violation) Error() string {
	return fmt.Sprintf("%s: not a lock's history.\n%s", v.world, v.text)
}

// check plays a world and checks its history with the model.
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

// explain describes what is wrong with the history. It takes seconds.
func (v *violation) explain(pictures bool) {
	small := shrinkHistory(v.model, v.ops)
	_, info := porcupine.CheckOperationsVerbose(v.model, small.ops, explainPatience)
	v.text = small.text + explain(v.model, small.ops, info)
	if pictures {
		_, info := porcupine.CheckOperationsVerbose(v.model, v.ops, explainPatience)
		v.text += picture(v.model, info, v.world.seed)
	}
}

// explain describes the longest possible order, and the operations that could not come next.
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

// picture draws the history into a temporary file and returns its path.
func picture(m porcupine.Model, info porcupine.LinearizationInfo, seed uint64) string {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("linearizability-%d.html", seed))
	if err := porcupine.VisualizePath(m, info, path); err != nil {
		return fmt.Sprintf("(no picture: %v)\n", err)
	}
	return fmt.Sprintf("a picture of the whole: %s\n", path)
}
