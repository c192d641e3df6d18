package tlsconf

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// versions reads tls-protocols.
func versions(words string) (least, most uint16, err error) {
	if strings.TrimSpace(words) == "" {
		return tls.VersionTLS12, tls.VersionTLS13, nil
	}
	for _, word := range strings.Fields(words) {
		var v uint16
		switch strings.ToLower(word) {
		case "tlsv1.2":
			v = tls.VersionTLS12
		case "tlsv1.3":
			v = tls.VersionTLS13
		case "tlsv1", "tlsv1.1":
			return 0, 0, fmt.Errorf("tls-protocols: %s is not offered, for it is broken; TLSv1.2 and TLSv1.3 are", word)
		default:
			return 0, 0, fmt.Errorf("tls-protocols: '%s' is no version; use TLSv1.2 and TLSv1.3", word)
		}
		if least == 0 || v < least {
			least = v
		}
		most = max(most, v)
	}
	return least, most, nil
}

// openSSLNames holds the safe ciphers of TLS 1.2 that Go supports, by their names in OpenSSL.
var openSSLNames = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
}

// neverThere lists kinds of ciphers that lists for OpenSSL commonly exclude, and that Go does not offer.
var neverThere = strings.Fields("MEDIUM LOW EXP EXPORT NULL ENULL ANULL ADH AECDH RC4 RC2 DES 3DES MD5 PSK SRP DSS ADSS CAMELLIA SEED IDEA ARIA KRSA DH DHE EDH KDHE SSLV2 SSLV3")

// ciphers reads tls-ciphers: names of OpenSSL with colons between them, DEFAULT and HIGH for all safe
// ciphers, and exclusions. The result is nil for the default.
func ciphers(list string) ([]uint16, error) {
	if list == "" {
		return nil, nil
	}
	var chosen []uint16
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(":, ", r) }) {
		word = strings.ToUpper(word)
		name, excluded := strings.CutPrefix(word, "!")
		if !excluded {
			name, excluded = strings.CutPrefix(word, "-")
		}
		id, known := openSSLNames[name]
		switch {
		case excluded && known:
			chosen = slices.DeleteFunc(chosen, func(c uint16) bool { return c == id })
		case excluded && slices.Contains(neverThere, name), word == "@STRENGTH":
		case known:
			if !slices.Contains(chosen, id) {
				chosen = append(chosen, id)
			}
		case word == "DEFAULT", word == "HIGH":
			for _, s := range tls.CipherSuites() {
				if slices.Contains(s.SupportedVersions, tls.VersionTLS12) && !slices.Contains(chosen, s.ID) {
					chosen = append(chosen, s.ID)
				}
			}
		default:
			return nil, fmt.Errorf("tls-ciphers: '%s' cannot be chosen here; what can are DEFAULT and %s", word, strings.Join(names(), ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("tls-ciphers: '%s' leaves no cipher", list)
	}
	return chosen, nil
}

// names returns the names in openSSLNames, in order.
func names() []string {
	var all []string
	for name := range openSSLNames {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// checkSuites reads tls-ciphersuites: Go always offers the three suites of TLS 1.3, so the list must name all
// of them.
func checkSuites(list string) error {
	if list == "" {
		return nil
	}
	given := strings.Split(strings.ToUpper(list), ":")
	for _, s := range tls.CipherSuites() {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) {
			continue
		}
		if !slices.Contains(given, s.Name) {
			return fmt.Errorf("tls-ciphersuites: those of TLS 1.3 cannot be chosen here, and %s is always offered; leave it empty", s.Name)
		}
	}
	return nil
}
