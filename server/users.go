package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"lockserver/commands"
	"lockserver/internal/config"
	"lockserver/server/acl"
	"lockserver/server/audit"
	"lockserver/server/pubsub"
	"lockserver/server/wait"
	"lockserver/store"
)

// The user of a session and its rights: the door to package acl. permit is asked wherever a command runs:
// before a plain command, at queueing and at EXEC, inside of scripts, and when a waiter's turn comes.

// permit says whether the session's user may run a command. Refusals are logged.
func (s *session) permit(row *commands.Row, argv [][]byte, where acl.Context) error {
	db := s.DB
	if s.tx.multi != nil && s.tx.multi.db != nil {
		db = s.tx.multi.db
	}
	return s.permitIn(s.User, db, row, argv, where)
}

// permitIn is permit for a user, in a database.
func (s *session) permitIn(user *acl.User, db *store.DB, row *commands.Row, argv [][]byte, where acl.Context) error {
	if user.Unrestricted || user.Passes(row, argv) {
		return nil
	}
	d := s.executor.rights.Check(user, db, row, argv)
	if d.Reason == acl.Allowed {
		return nil
	}
	recordDenial(s, user, &d, where)
	return d.Error(user)
}

// permitQueued is permit for a command at EXEC.
func (s *session) permitQueued(q queuedCommand) error {
	if s.User.Unrestricted || s.User.Passes(q.row, q.argv) {
		return nil
	}
	ex := s.executor
	d := ex.rights.Check(s.User, s.DB, q.row, q.argv)
	if d.Reason == acl.Allowed {
		return nil
	}
	recordDenial(s, s.User, &d, acl.InMulti)
	return commands.ErrExecDenied(d.Lost())
}

// recordDenial logs that a user of the session may not run a command.
func recordDenial(s *session, user *acl.User, d *acl.Denial, where acl.Context) {
	ex := s.executor
	ex.users.Refuse(user, d, where, ex.Store.NowMS(), s.line)
	if audited(s) {
		ex.audit.Refused(s.auditClient(), audit.Refusal{Command: d.Row.FullName(), Reason: d.Reason.String(), Context: where.String(), Object: d.Object})
	}
}

// beDefault makes the session a session that has not logged in.
func (s *session) beDefault() {
	s.User = s.executor.users.Default()
	s.loggedIn = s.User.Open()
	s.setAuthenticated(s.loggedIn)
}

// believe gives the session the user that its client's certificate names, if it may (tls-auth-clients-user).
func (s *session) believe(name string) {
	if name == "" || s.executor.config.TLS.AuthClientsUser != "CN" {
		return
	}
	if u := s.executor.users.ByCertificate(name); u != nil {
		become(s, u, "certificate")
	}
}

// followDefault looks whether a session that has not logged in may run commands: that is so as long as the
// user default has no password. Only the session's owner calls it.
func (s *session) followDefault() {
	if open := s.executor.users.Default().Open(); !s.loggedIn && s.authenticated != open {
		s.setAuthenticated(open)
	}
}

// logIn makes the session that of a user. command is the name of the called command.
func (s *session) logIn(name, password, command []byte) error {
	ex := s.executor
	u := ex.users.LogIn(name, password)
	if u == nil {
		where := acl.TopLevel
		if s.tx.running != nil {
			where = acl.InMulti
		}
		ex.users.RefuseLogin(name, command, where, ex.Store.NowMS(), s.line)
		if audited(s) {
			ex.audit.FailedLogin(s.auditClient(), name)
		}
		return commands.ErrWrongPass
	}
	become(s, u, "password")
	return nil
}

// become makes the session that of a user, and logs it. by is "password" or "certificate".
func become(s *session, u *acl.User, by string) {
	s.User, s.loggedIn = u, true
	s.setAuthenticated(true)
	if audited(s) {
		s.executor.audit.Login(s.auditClient(), by)
	}
}

// loadUsers makes the users that the configuration names, or the ACL file.
func (ex *executor) loadUsers() error {
	c := ex.config
	if c.ACLFile != "" && len(c.Users) > 0 {
		return errors.New("users stand in the configuration, and there is an aclfile as well: one of them must hold all users")
	}
	disabled, err := ex.users.Declare(c.Users)
	if err != nil {
		return err
	}
	if c.RequirePassFile != "" && len(c.Users) > 0 {
		if ex.users.HasOtherPassword(c.RequirePass) { // a line of CONFIG REWRITE has no such password
			ex.Logger.Warn("the passwords of the user default in the configuration do not count: requirepass-file has its password", "file", c.RequirePassFile)
		}
		ex.users.SetDefaultPassword(c.RequirePass)
	}
	for _, name := range disabled {
		ex.Logger.Info("a user is disabled: there is no 'on' among the rules", "user", name)
	}
	if c.ACLFile == "" {
		return nil
	}
	h := usersHost{executor: ex}
	text, err := h.ReadFile()
	if err != nil {
		return acl.ErrOpen(c.ACLFile, err)
	}
	_, err = ex.users.Load(c.ACLFile, text, h.PasswordSet())
	return err
}

// withUsers is the configuration as CONFIG REWRITE writes it: with the users, unless they have a file. A
// password that is in a file stays there.
func (ex *executor) withUsers() *config.Config {
	c := ex.config.Clone()
	c.Users = nil
	if c.ACLFile == "" {
		lines := ex.users.Lines()
		if c.RequirePassFile != "" {
			lines = ex.users.LinesWithoutPassword()
			if ex.users.HasOtherPassword(c.RequirePass) {
				ex.Logger.Warn("CONFIG REWRITE leaves out passwords of the user default: requirepass-file has its password", "file", c.RequirePassFile)
			}
		}
		for _, line := range lines {
			c.Users = append(c.Users, strings.Split(line, " "))
		}
	}
	return c
}

// usersHost is the server as ACL of a session sees it.
type usersHost struct {
	executor *executor
	session  *session
}

var _ acl.Directory = usersHost{}

// usersOf is the host of the session that runs an ACL.
func usersOf(c *commands.Ctx) acl.Directory {
	s := sessionOf(c)
	return usersHost{s.executor, s}
}

// Users implements acl.Directory.
func (h usersHost) Users() *acl.Users { return h.executor.users }

// Checker implements acl.Directory.
func (h usersHost) Checker() *acl.Checker { return h.executor.rights }

// Asking implements acl.Directory.
func (h usersHost) Asking() *acl.User { return h.session.User }

// Lookup implements acl.Directory.
func (h usersHost) Lookup() *commands.Table { return h.executor.Table }

// Move implements acl.Directory.
func (h usersHost) Move(change acl.Change) {
	ex := h.executor
	for _, s := range ex.sortedClients() {
		if s.User != change.Old {
			continue
		}
		if change.New == nil {
			s.DenyWaits() // by what default may do they would go on
			s.User, s.loggedIn = ex.users.Default(), false
			h.end(s)
			continue
		}
		s.User = change.New
		switch {
		case change.Left != nil && s.listensBeyond(change.Left):
			h.end(s)
		case s.KeepsPlaces():
			s.Queued.Judge(&ex.Waits)
		}
	}
	ex.Waits.KeptPlaces.Follow(&ex.Waits, change)
	if h.session != nil {
		h.session.followDefault()
	}
}

// end ends a session that has lost its user, or channels that it listens to. If it is a session that asked,
// it gets its reply first.
func (h usersHost) end(s *session) {
	if s == h.session || agreesOnUsers(s) {
		s.Closing = true
	} else {
		h.executor.terminate(s)
	}
}

// agreesOnUsers reports whether the session waits for the group to agree on users.
func agreesOnUsers(s *session) bool {
	return s.Waiter != nil && slices.Contains([]string{"acl|setuser", "acl|deluser", "config|set"}, s.Waiter.Row.FullName())
}

// listensBeyond reports whether the session listens to a channel, or a pattern, that is not allowed.
func (s *session) listensBeyond(allowed *acl.Channels) bool {
	if s.subs == nil {
		return false
	}
	for kind := range pubsub.Kinds {
		for name := range s.subs.All(pubsub.Kind(kind)) {
			if !allowed.Allows([]byte(name), pubsub.Kind(kind) == pubsub.Pattern) {
				return true
			}
		}
	}
	return false
}

// File implements acl.Directory.
func (h usersHost) File() string { return h.executor.config.ACLFile }

// PasswordSet implements acl.Directory.
func (h usersHost) PasswordSet() bool { return h.executor.config.RequirePass != "" }

// aclPath is where the ACL file lies: relative to the directory of the server, as Redis, which goes there,
// has it.
func (ex *executor) aclPath() string {
	if path := ex.config.ACLFile; filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(ex.config.Dir, ex.config.ACLFile)
}

// ReadFile implements acl.Directory.
func (h usersHost) ReadFile() (string, error) {
	data, err := config.ReadRegular(h.executor.aclPath(), config.MostACLBytes)
	var cause *fs.PathError
	if errors.As(err, &cause) {
		text := cause.Err.Error() // as C words it
		return "", fmt.Errorf("%s%s", strings.ToUpper(text[:1]), text[1:])
	}
	return string(data), err
}

// aclFileMode lets only the owner read the hashes of passwords.
const aclFileMode = 0o600

// WriteFile implements acl.Directory.
func (h usersHost) WriteFile(text string) error {
	err := config.ReplaceFile(h.executor.aclPath(), []byte(text), aclFileMode)
	if err != nil {
		h.executor.Logger.Warn("the ACL file cannot be written", "cause", err)
	}
	return err
}

// auditRunner has the log of operators' commands.
type auditRunner struct{}

// Later implements audit.Runner.
func (auditRunner) Later(c *commands.Ctx, over func(err error)) bool {
	p, ok := c.Session.(*wait.Party)
	if !ok || p.Waiter == nil {
		return false
	}
	w, ok := p.Waiter.Call().(*wait.Other)
	if ok {
		w.LogEnd = over
	}
	return ok
}

// Find implements audit.Runner.
func (auditRunner) Find(c *commands.Ctx) (l *audit.Log, client audit.Client, logged bool) {
	p, ok := c.Session.(*wait.Party)
	if !ok || !audited(clientOf(p)) {
		return nil, client, false
	}
	s := clientOf(p)
	return &s.executor.audit, s.auditClient(), true
}

// audited reports whether the log has lines of the session. Sessions of the console have no lines, because
// the console writes its own.
func audited(s *session) bool {
	_, replayed := s.output.Conn.(noConn)
	return !replayed && !s.isMaster && !s.Info.Apart
}

// auditClient returns the session as the log shows it.
func (s *session) auditClient() audit.Client {
	return audit.Client{ID: s.Number, User: s.userName(), Addr: s.Info.Addr, Name: s.Info.Name}
}
