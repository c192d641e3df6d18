package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	hraft "github.com/hashicorp/raft"
	"lockserver/server/raft"
)

// Where members are encrypted, TLS has verified that a certificate is of the members' authority. The
// certificates of clients and of other programs may be of the same one. So a member's certificate also has to
// be for the address of that member in the group, or for a name of raft-tls-names. Both ends of a connection
// check that, and the end that refuses tells the other one.
//
// The address of a caller comes from the group's configuration, or from raft-members before there is one. A
// member that was away may have missed that another one has moved or was added: it asks the members that it
// knows. A server that waits for RAFT ADD knows no member. There the certificate has to be for the address
// that the connection comes from.

// AnyName in raft-tls-names: each certificate of the members' authority is a member's.
const AnyName = "*"

// refusing begins the line of a caller that refuses the called member, do not change. The id of the caller
// and the reason follow. It is no greeting of any version.
const refusing = "lockserver-raft refuses"

const (
	// wrongCertificate begins what is wrong with a certificate, do not change: it is looked for in answers.
	wrongCertificate = "it shows a certificate"
	// askAddressesEvery is how often members are asked for the addresses of others, at most.
	askAddressesEvery = time.Second
	// mostLookups bounds how many names of a certificate are looked up.
	mostLookups = 4
)

// CheckCertificate says what is wrong with the certificate of a member at one of these addresses; nil:
// nothing is. The certificate may be for one of the names instead.
func CheckCertificate(cert *x509.Certificate, addresses, names []string) error {
	for _, at := range addresses {
		if host, _, err := net.SplitHostPort(at); err == nil && cert.VerifyHostname(host) == nil {
			return nil
		}
	}
	if isNamed(cert, names) {
		return nil
	}
	where := "that member is not in the group as this one knows it"
	if len(addresses) > 0 {
		where = "the address in the group is " + strings.Join(addresses, ", ")
	}
	return fmt.Errorf("%s for %s, and %s: a member's certificate is for its address, or for a name of raft-tls-names", wrongCertificate, namesOf(cert), where)
}

// CheckOwnCertificate is CheckCertificate for a member's own: the other members would refuse it.
func CheckOwnCertificate(cert *x509.Certificate, address string, names []string) error {
	if CheckCertificate(cert, []string{address}, names) == nil {
		return nil
	}
	return fmt.Errorf("the certificate is for %s, and the other members reach this one at %s: issue one for that host (subjectAltName), "+
		"or give one of its names in raft-tls-names, on all members", namesOf(cert), address)
}

// isNamed reports whether a certificate is for one of these names.
func isNamed(cert *x509.Certificate, names []string) bool {
	has := namesIn(cert)
	return slices.ContainsFunc(names, func(name string) bool {
		return name == AnyName || cert.Subject.CommonName == name || cert.VerifyHostname(name) == nil ||
			slices.ContainsFunc(has, func(is string) bool { return strings.EqualFold(is, name) })
	})
}

// namesIn are the alternative names of a certificate.
func namesIn(cert *x509.Certificate) (all []string) {
	all = append(all, cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		all = append(all, ip.String())
	}
	for _, u := range cert.URIs {
		all = append(all, u.String())
	}
	return all
}

// namesOf says which names a certificate is for.
func namesOf(cert *x509.Certificate) string {
	if all := namesIn(cert); len(all) > 0 {
		return strings.Join(all[:min(len(all), 2*mostLookups)], ", ")
	}
	return fmt.Sprintf("no address (its common name is '%.64s')", cert.Subject.CommonName)
}

// checkOrigin is CheckCertificate for a caller at a server that knows no member.
func checkOrigin(ctx context.Context, cert *x509.Certificate, from net.Addr, names []string) error {
	host, _, err := net.SplitHostPort(from.String())
	if err != nil {
		return err
	}
	host, _, _ = strings.Cut(host, "%") // the zone of an IPv6 address
	if isNamed(cert, names) || cert.VerifyHostname(host) == nil {
		return nil
	}
	for _, name := range cert.DNSNames[:min(len(cert.DNSNames), mostLookups)] {
		if at, err := net.DefaultResolver.LookupHost(ctx, name); err == nil && slices.Contains(at, host) {
			return nil
		}
	}
	return fmt.Errorf("%s for %s, and calls from %s: this server waits for RAFT ADD and knows no member, so a certificate has to be for the address that a call comes from, "+
		"or for a name of raft-tls-names", wrongCertificate, namesOf(cert), host)
}

// certificateOf is the certificate of the other end; nil: the connection is not encrypted.
func certificateOf(c net.Conn) *x509.Certificate {
	if t, ok := c.(*tls.Conn); ok {
		if all := t.ConnectionState().PeerCertificates; len(all) > 0 {
			return all[0]
		}
	}
	return nil
}

// checkCaller says what is wrong with the certificate of a caller that says it is a member.
func (n *Network) checkCaller(c net.Conn, id string) error {
	cert := certificateOf(c)
	if cert == nil || n.Addresses == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	at, others, err := n.Addresses(ctx, id, false)
	if err != nil {
		return errTaking // the engine is being opened or closed
	}
	if !others {
		return checkOrigin(ctx, cert, c.RemoteAddr(), n.Names)
	}
	if err = CheckCertificate(cert, at, n.Names); err == nil {
		return nil
	}
	if at, _, failed := n.Addresses(ctx, id, true); failed == nil {
		err = CheckCertificate(cert, at, n.Names)
	}
	return err
}

// checkCalled says what is wrong with the certificate of the member at an address, and tells that member.
func (n *Network) checkCalled(ctx context.Context, c net.Conn, address string) error {
	t, ok := c.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := t.HandshakeContext(ctx); err != nil {
		return err
	}
	cert := certificateOf(c)
	if cert == nil {
		return nil
	}
	err := CheckCertificate(cert, []string{address}, n.Names)
	if err != nil {
		if deadline, ok := ctx.Deadline(); ok {
			_ = c.SetDeadline(deadline)
		}
		_, _ = fmt.Fprintf(c, "%s %s %.*s\n", refusing, n.ID, longestGreeting/2, oneLine(err.Error()))
		if n.Identity != nil {
			n.Identity.refuse("", address, err)
		}
	}
	return err
}

// oneLine is a text without ends of lines: names in certificates may have any characters.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, text)
}

// isRefused records that a caller refuses this member.
func (s *stream) isRefused(c net.Conn, words string) {
	defer func() { _ = c.Close() }()
	id, why, _ := strings.Cut(words, " ")
	if err := s.network.checkCaller(c, id); err != nil {
		return // any program could say so
	}
	s.network.Identity.refusedBy(id, why)
}

// hearRefusal records an answer that says what is wrong with this member's certificate.
func (n *Network) hearRefusal(address, answer string) {
	if why, ok := strings.CutPrefix(answer, "-"); ok && strings.HasPrefix(why, wrongCertificate) && n.Identity != nil {
		n.Identity.refuse("", address, fmt.Errorf("%s refuses this member: %s", address, why))
	}
}

// addressBook has the addresses of members by the words of other members.
type addressBook struct {
	mu    sync.Mutex
	at    map[string][]string // under mu, by the id
	asked time.Time           // under mu: when this was asked for the last time
}

// hear keeps what some members have answered. It replaces what was heard before.
func (t *addressBook) hear(found []heardOf) {
	at := make(map[string][]string)
	heard := false
	for i := range found {
		if h := &found[i]; h.err == nil && h.ID == h.peer.ID && len(h.Addresses) > 0 {
			heard = true
			for _, p := range h.members() {
				if !slices.Contains(at[p.ID], p.Raft) {
					at[p.ID] = append(at[p.ID], p.Raft)
				}
			}
		}
	}
	if heard {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.at = at
	}
}

// due reports whether members may be asked again.
func (t *addressBook) due(now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.asked) < askAddressesEvery {
		return false
	}
	t.asked = now
	return true
}

// addresses are those of the group's members, as other members hear of them. The form, do not change: the id,
// an equals sign, and the address in the configuration without the id of the group.
func addresses(members []hraft.Server) (all []string) {
	for _, s := range members {
		p := peerOf(s.ID, s.Address)
		all = append(all, p.ID+"="+string(Address(p))+"/"+p.Incarnation)
	}
	return all
}

// members reads what addresses has written.
func (h *Hello) members() (all []raft.Peer) {
	for _, word := range h.Addresses {
		if id, at, ok := strings.Cut(word, "="); ok {
			all = append(all, peerOf(hraft.ServerID(id), hraft.ServerAddress(at)))
		}
	}
	return all
}

// except are the members but for one.
func except(all []raft.Peer, id string) []raft.Peer {
	return slices.DeleteFunc(slices.Clone(all), func(p raft.Peer) bool { return p.ID == id })
}
