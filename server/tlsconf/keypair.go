package tlsconf

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/youmark/pkcs8"

	"lockserver/internal/config"
)

// readKeyPair returns the server's certificate with its key.
func readKeyPair(c *config.TLS) (tls.Certificate, error) {
	var none tls.Certificate
	if c.CertFile == "" {
		return none, errors.New("tls-cert-file is not given")
	}
	if c.KeyFile == "" {
		return none, errors.New("tls-key-file is not given")
	}
	certPEM, err := config.ReadRegular(c.CertFile, config.MostPEMBytes)
	if err != nil {
		return none, fmt.Errorf("tls-cert-file: %w", err)
	}
	keyPEM, err := config.ReadRegular(c.KeyFile, config.MostPEMBytes)
	if err != nil {
		return none, fmt.Errorf("tls-key-file: %w", err)
	}
	if keyPEM, err = decrypted(keyPEM, c.KeyFilePass); err != nil {
		return none, fmt.Errorf("tls-key-file %s: %w", c.KeyFile, err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return none, fmt.Errorf("tls-cert-file %s with tls-key-file %s: %w", c.CertFile, c.KeyFile, err)
	}
	return cert, nil
}

var (
	errNeedsPassword = errors.New("it is encrypted, and tls-key-file-pass is not given")
	errWrongPassword = errors.New("tls-key-file-pass is not its password")
)

// decrypted returns a key in PEM without its encryption: that of PKCS #8, or an older kind. Other keys are
// returned unchanged.
func decrypted(keyPEM []byte, password string) ([]byte, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return keyPEM, nil // a fault in it is reported later
	}
	//lint:ignore SA1019 such files exist; that their encryption is weak is not ours to mend
	older := x509.IsEncryptedPEMBlock(block)
	newer := block.Type == "ENCRYPTED PRIVATE KEY"
	switch {
	case !older && !newer:
		return keyPEM, nil
	case password == "":
		return nil, errNeedsPassword
	case older:
		//lint:ignore SA1019 as above
		der, err := x509.DecryptPEMBlock(block, []byte(password))
		if err != nil {
			return nil, errWrongPassword
		}
		return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: der}), nil
	}
	key, _, err := pkcs8.ParsePrivateKey(block.Bytes, []byte(password))
	if err != nil {
		return nil, fmt.Errorf("%w, or it is encrypted in an unknown way: %w", errWrongPassword, err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(crypto.PrivateKey(key))
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
