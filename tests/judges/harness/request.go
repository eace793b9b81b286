package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

// Request makes a request for a certificate, with a new key, as the API takes it: PEM text in base64.
func Request(name string) (string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		return "", fmt.Errorf("making a request for a certificate: %w", err)
	}
	return base64.StdEncoding.EncodeToString(block("CERTIFICATE REQUEST", der)), nil
}

// Verify is an error unless a certificate, PEM text in base64, is signed by an authority, for this use and, if there is one, for this
// DNS name.
func Verify(encoded string, authority []byte, use x509.ExtKeyUsage, name string) error {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("there is no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("reading a certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{use}, DNSName: name, CurrentTime: time.Now()})
	return err
}
