package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Keys are the files of what the clients of a control plane trust.
type Keys struct {
	// CA signs the certificates of the API server and of its clients.
	CA, CAKey string
	// ServiceAccountKey signs the tokens of ServiceAccounts.
	ServiceAccountKey string
}

// lifetime is how long certificates are valid: longer than any run.
const lifetime = 24 * time.Hour

// writeKeys makes the certificates and keys of a real API server in a directory: those of Keys, and tls.crt and tls.key.
// It returns the kubeconfig of an admin.
func writeKeys(folder, url string) (Keys, string, error) {
	keys := Keys{filepath.Join(folder, "ca.crt"), filepath.Join(folder, "ca.key"), filepath.Join(folder, "sa.key")}
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "judges"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	caCertificate, caKey, err := issue(authority, nil, nil)
	if err != nil {
		return keys, "", err
	}
	server := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kube-apiserver"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
		DNSNames: []string{"localhost", "kubernetes.default.svc"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	serverCertificate, serverKey, err := issue(server, authority, caKey)
	if err != nil {
		return keys, "", err
	}
	admin := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	adminCertificate, adminKey, err := issue(admin, authority, caKey)
	if err != nil {
		return keys, "", err
	}
	tokens, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return keys, "", err
	}
	files := map[string][]byte{
		keys.CA:                          caCertificate,
		keys.CAKey:                       keyPEM(caKey),
		filepath.Join(folder, "tls.crt"): serverCertificate,
		filepath.Join(folder, "tls.key"): keyPEM(serverKey),
		keys.ServiceAccountKey:           block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(tokens)),
	}
	for path, text := range files {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return keys, "", fmt.Errorf("writing the keys of a control plane: %w", err)
		}
	}
	encode := base64.StdEncoding.EncodeToString
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: judges
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: admin
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: judges
  context: {cluster: judges, user: admin}
current-context: judges
`, url, encode(caCertificate), encode(adminCertificate), encode(keyPEM(adminKey)))
	return keys, kubeconfig, nil
}

// issue signs a certificate with a new key; without a parent it signs itself.
func issue(template, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(lifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, fmt.Errorf("issuing the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return block("CERTIFICATE", der), key, nil
}

func keyPEM(key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		panic(err) // A key that was just made can be written.
	}
	return block("EC PRIVATE KEY", der)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
