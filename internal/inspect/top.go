package inspect

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"
)

// Top shows the server once a second until the user leaves it or ctx ends. in and out are a terminal. It
// connects again after a restart of the server, and follows the leader of a group.
func (s *Server) Top(ctx context.Context, in io.Reader, out io.Writer, interval time.Duration) error {
	l := s.Lasting(ctx)
	defer l.Close()
	screen := newScreen(interval, l.Sample, l.Why)
	_, err := tea.NewProgram(screen, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen()).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil // a signal ends `top` without an error
	}
	return err
}

// TopOnce writes the content of Top once, for an output that is not a terminal. The rates are those of one
// interval.
func (s *Server) TopOnce(ctx context.Context, out io.Writer, interval time.Duration) error {
	screen := newScreen(interval, s.Sample, nil)
	for range 2 {
		sample, err := s.Sample()
		if err != nil {
			return err
		}
		screen.take(sample)
		if screen.before != nil {
			break
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := io.WriteString(out, screen.page(120, 0)+"\n")
	return err
}

// screen is the state of `top` and its key handling: a model of bubbletea.
type screen struct {
	look     func() (*Sample, error)
	why      func(key string) (*Reason, error)
	interval time.Duration

	width, height int
	sample        *Sample // the latest sample; nil before the first
	before        *Sample // the sample before the latest
	err           error   // error of the latest look; the sample is then older
	paused        bool

	at        int // the chosen line in the list of locks
	find      textinput.Model
	finding   bool
	reason    *Reason // the reason for the chosen lock, while it is shown
	reasonErr error
	asked     string // the key of the shown reason; empty: the lists are shown
}

func newScreen(interval time.Duration, look func() (*Sample, error), why func(string) (*Reason, error)) *screen {
	find := textinput.New()
	find.Prompt = "find: "
	find.Placeholder = "a part of a key or an owner"
	find.CharLimit = 100
	find.Cursor.SetMode(cursor.CursorStatic)
	return &screen{look: look, why: why, interval: interval, find: find}
}

// looked is the message that a look at the server has ended.
type looked struct {
	sample *Sample
	err    error
}

// explanation is a message with the reason why a lock is not free.
type explanation struct {
	key    string
	reason *Reason
	err    error
}

// due is the message that it is time for the next look.
type due struct{}

func (s *screen) lookNow() tea.Msg {
	sample, err := s.look()
	return looked{sample, err}
}

// askWhy asks for the reason of the chosen lock.
func (s *screen) askWhy() tea.Cmd {
	key := s.asked // commands run on goroutines of their own
	return func() tea.Msg {
		reason, err := s.why(key)
		return explanation{key, reason, err}
	}
}

// Init implements tea.Model.
func (s *screen) Init() tea.Cmd { return s.lookNow }

// Update implements tea.Model.
func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = msg.Width, msg.Height
	case looked:
		if s.err = msg.err; s.err == nil && !s.paused {
			s.take(msg.sample)
		}
		return s, tea.Tick(s.interval, func(time.Time) tea.Msg { return due{} })
	case due:
		if s.asked != "" {
			return s, tea.Sequence(s.askWhy(), s.lookNow)
		}
		return s, s.lookNow
	case explanation:
		if msg.key == s.asked {
			s.reason, s.reasonErr = msg.reason, msg.err
		}
	case tea.KeyMsg:
		return s, s.press(msg)
	}
	return s, nil
}

// take makes a new sample the latest.
func (s *screen) take(sample *Sample) {
	s.before, s.sample = s.sample, sample
	s.choose(0)
}

// choose moves the choice by some lines.
func (s *screen) choose(by int) {
	s.at = max(0, min(s.at+by, len(s.locks())-1))
}

func (s *screen) press(key tea.KeyMsg) tea.Cmd {
	switch {
	case key.Type == tea.KeyCtrlC:
		return tea.Quit
	case s.finding:
		return s.edit(key)
	case s.asked != "":
		switch key.String() {
		case "q":
			return tea.Quit
		case "esc", "enter", "left", "backspace":
			s.asked, s.reason, s.reasonErr = "", nil, nil
		}
		return nil
	}
	switch key.String() {
	case "q":
		return tea.Quit
	case "esc":
		s.find.Reset()
		s.choose(0)
	case "up", "k":
		s.choose(-1)
	case "down", "j":
		s.choose(1)
	case "pgup":
		s.choose(-10)
	case "pgdown":
		s.choose(10)
	case "home":
		s.at = 0
	case "end":
		s.choose(len(s.locks()))
	case " ", "p":
		s.paused = !s.paused
	case "/":
		s.finding = true
		return s.find.Focus()
	case "enter", "right":
		if locks := s.locks(); len(locks) > 0 {
			s.asked = locks[s.at].Key
			return s.askWhy()
		}
	}
	return nil
}

// edit handles a key while the user types the search text.
func (s *screen) edit(key tea.KeyMsg) (cmd tea.Cmd) {
	switch key.Type {
	case tea.KeyEsc:
		s.find.Reset()
		fallthrough
	case tea.KeyEnter:
		s.finding = false
		s.find.Blur()
	default:
		s.find, cmd = s.find.Update(key)
	}
	s.choose(0)
	return cmd
}

// locks returns the locks of the list: the contended locks first, and only those that match the search text.
func (s *screen) locks() []Lock {
	if s.sample == nil {
		return nil
	}
	all := slices.Concat(s.sample.Contended, s.sample.Held)
	if part := s.find.Value(); part != "" {
		all = slices.DeleteFunc(all, func(l Lock) bool { return !strings.Contains(l.Key, part) && !strings.Contains(l.Owner, part) })
	}
	return all
}
