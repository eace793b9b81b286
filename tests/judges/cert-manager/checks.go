// What cert-manager does on every control plane.
package main

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"

	"kubewright.dev/tests/judges/harness"
)

const namespace = "cert-manager"

// manager is cert-manager on a cluster.
type manager struct {
	programs
	tree
	*harness.Cluster
}

func (p programs) checks(tree tree) []harness.Check {
	list := []struct {
		name string
		run  func(manager) error
	}{
		{"the definitions are established", manager.define},
		{"the webhook makes its CA, and the injector injects it", manager.serve},
		{"the webhook refuses a bad Certificate", manager.refuse},
		{"a denied request stays denied", manager.deny},
		{"a Certificate of a CA becomes ready, with a valid chain", manager.issue},
		{"a Certificate is issued again when its Secret is gone", manager.renew},
		{"a ClusterIssuer signs in another namespace", manager.cluster},
		{"an Ingress with an annotation gets its Certificate", manager.ingress},
		{"the CA of a Certificate is injected", manager.inject},
	}
	var checks []harness.Check
	for _, one := range list {
		checks = append(checks, harness.Check{Name: one.name, Run: func(cluster *harness.Cluster) error {
			return one.run(manager{p, tree, cluster})
		}})
	}
	return checks
}

// has waits until a field of an object has a value.
func (m manager) has(value, field string, object ...string) func() error {
	return func() error { return m.Expect(value, field, append(object, "--namespace", namespace)...) }
}

func (m manager) apply(manifests string) func() error {
	return func() error { return m.Apply(manifests, "--namespace", namespace) }
}

func (m manager) kubectl(arguments ...string) func() error {
	return func() error {
		_, err := m.Kubectl(append(arguments, "--namespace", namespace)...)
		return err
	}
}

func (m manager) ready(object string) func() error {
	return m.has("True", `{.status.conditions[?(@.type=="Ready")].status}`, object)
}

func (m manager) define() error {
	return harness.All(
		m.kubectl("create", "namespace", namespace),
		m.kubectl("apply", "--filename", m.definitions()),
		m.kubectl("wait", "--for", "condition=established", "--timeout", "30s", "--filename", m.definitions()),
	)
}

func (m manager) serve() error {
	ports, err := harness.FreePorts(2)
	if err != nil {
		return err
	}
	// As cert-manager's manifests have them, with an address of this machine in place of a Service.
	const configuration = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sWebhookConfiguration
metadata: {name: cert-manager-webhook, annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}}
webhooks:
- name: webhook.cert-manager.io
  clientConfig: {url: "https://localhost:%[2]d/%[3]s"}
  rules: [{apiGroups: [cert-manager.io, acme.cert-manager.io], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*/*"]}]
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  sideEffects: None
`
	bundle := `jsonpath={.webhooks[0].clientConfig.caBundle}`
	return harness.All(
		func() error {
			_, err := m.Also(m.webhook, "--kubeconfig="+m.Kubeconfig, fmt.Sprintf("--secure-port=%d", ports[0]), fmt.Sprintf("--healthz-port=%d", ports[1]),
				"--dynamic-serving-ca-secret-namespace="+namespace, "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
				"--dynamic-serving-dns-names=localhost")
			return err
		},
		func() error {
			_, err := m.Also(m.cainjector, "--kubeconfig="+m.Kubeconfig, "--leader-elect=false")
			return err
		},
		m.apply(fmt.Sprintf(configuration, "Validating", ports[0], "validate")+fmt.Sprintf(configuration, "Mutating", ports[0], "mutate")),
		func() error {
			return harness.Eventually(func() error {
				authority, err := m.Kubectl("get", "secret", "cert-manager-webhook-ca", "--namespace", namespace, "--output", `jsonpath={.data.ca\.crt}`)
				if err != nil {
					return err
				}
				for _, kind := range []string{"validatingwebhookconfiguration", "mutatingwebhookconfiguration"} {
					injected, err := m.Kubectl("get", kind, "cert-manager-webhook", "--output", bundle)
					if err != nil || injected == "" || injected != authority {
						return errors.Join(err, fmt.Errorf("the CA in the %s is not that of the webhook", kind))
					}
				}
				return nil
			})
		},
	)
}

func (m manager) refuse() error {
	const bad = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: bad}
spec: {secretName: bad, duration: 1h, renewBefore: 2h, issuerRef: {name: own}}
`
	// Until the webhook serves with a certificate of the CA that was injected, the call itself fails.
	return harness.Eventually(func() error {
		err := m.Apply(bad, "--namespace", namespace)
		return errors.Join(
			harness.Refused(err, `admission webhook "webhook.cert-manager.io" denied the request`),
			harness.Refused(err, "at least one of commonName, dnsNames, uris ipAddresses, or emailAddresses must be set"),
			harness.Refused(err, "spec.renewBefore"),
		)
	})
}

// deny denies a request before there is a controller that could approve it.
func (m manager) deny() error {
	request, err := harness.Request("denied")
	if err != nil {
		return err
	}
	return harness.All(
		m.apply("{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: own}, spec: {selfSigned: {}}}"),
		m.apply(fmt.Sprintf(`
apiVersion: cert-manager.io/v1
kind: CertificateRequest
metadata: {name: denied}
spec: {request: %s, issuerRef: {name: own}}
`, request)),
		// The mutating webhook says who asks.
		func() error {
			user, err := m.Kubectl("get", "certificaterequest", "denied", "--namespace", namespace, "--output", "jsonpath={.spec.username}")
			if err == nil && user == "" {
				err = errors.New("the request does not say who made it")
			}
			return err
		},
		m.kubectl("patch", "certificaterequest", "denied", "--subresource", "status", "--type", "merge", "--patch",
			`{"status": {"conditions": [{"type": "Denied", "status": "True", "reason": "Judge", "message": "no"}]}}`),
		func() error {
			_, err := m.Kubectl("patch", "certificaterequest", "denied", "--namespace", namespace, "--subresource", "status", "--type", "merge", "--patch",
				`{"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Judge", "message": "yes"}]}}`)
			return harness.Refused(err, "denied the request")
		},
		func() error {
			_, err := m.Also(m.controller, "--kubeconfig="+m.Kubeconfig, "--leader-elect=false", "--cluster-resource-namespace="+namespace,
				"--metrics-listen-address=127.0.0.1:0")
			return err
		},
		m.ready("issuer/own"),
		m.has("Denied", `{.status.conditions[?(@.type=="Ready")].reason}`, "certificaterequest", "denied"),
		m.has("", "{.status.certificate}", "certificaterequest", "denied"),
	)
}

func (m manager) issue() error {
	return harness.All(
		m.apply(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority}
spec: {isCA: true, commonName: judges, secretName: authority, privateKey: {algorithm: ECDSA, size: 256}, issuerRef: {name: own}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority}
spec: {ca: {secretName: authority}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web}
spec: {dnsNames: [web.example.com], secretName: web, issuerRef: {name: authority}}
`),
		m.ready("issuer/authority"),
		m.ready("certificate/web"),
		m.has("1", "{.status.revision}", "certificate", "web"),
		m.has("cert-manager.io", `{.items[0].status.conditions[?(@.type=="Approved")].reason}`, "certificaterequests"),
		func() error { return m.chain("web", "web.example.com") },
	)
}

// chain is an error unless the Secret of a Certificate has one for the name, signed by the CA that is beside it.
func (m manager) chain(secret, name string) error {
	part := func(key string) (string, error) {
		return m.Kubectl("get", "secret", secret, "--namespace", namespace, "--output", "jsonpath={.data."+key+"}")
	}
	encoded, err := part(`ca\.crt`)
	if err != nil {
		return err
	}
	authority, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	certificate, err := part(`tls\.crt`)
	if err != nil {
		return err
	}
	return harness.Verify(certificate, authority, x509.ExtKeyUsageAny, name)
}

func (m manager) renew() error {
	return harness.All(
		m.kubectl("delete", "secret", "web"),
		m.has("2", "{.status.revision}", "certificate", "web"),
		m.ready("certificate/web"),
		func() error { return m.chain("web", "web.example.com") },
		// A change of what is wanted issues it again, too.
		m.kubectl("patch", "certificate", "web", "--type", "merge", "--patch", `{"spec": {"dnsNames": ["web.example.com", "www.example.com"]}}`),
		m.has("3", "{.status.revision}", "certificate", "web"),
		func() error { return m.chain("web", "www.example.com") },
	)
}

func (m manager) cluster() error {
	return harness.All(
		m.kubectl("create", "namespace", "elsewhere"),
		m.apply("{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, metadata: {name: everywhere}, spec: {ca: {secretName: authority}}}"),
		m.ready("clusterissuer/everywhere"),
		func() error {
			return m.Apply(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: far, namespace: elsewhere}
spec: {dnsNames: [far.example.com], secretName: far, issuerRef: {name: everywhere, kind: ClusterIssuer}}
`)
		},
		func() error {
			return m.Expect("True", `{.status.conditions[?(@.type=="Ready")].status}`, "certificate", "far", "--namespace", "elsewhere")
		},
	)
}

func (m manager) ingress() error {
	return harness.All(
		m.apply(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, annotations: {cert-manager.io/issuer: authority}}
spec:
  tls: [{hosts: [shop.example.com], secretName: shop}]
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}}]
`),
		m.ready("certificate/shop"),
		func() error { return m.chain("shop", "shop.example.com") },
		m.kubectl("delete", "ingress", "shop"),
		func() error { return m.ExpectGone("certificate/shop", "--namespace", namespace) },
	)
}

func (m manager) inject() error {
	return harness.All(
		m.apply(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.judges.kubewright.dev, annotations: {cert-manager.io/inject-ca-from: cert-manager/web}}
spec: {group: judges.kubewright.dev, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: none, namespace: default}}
`),
		func() error {
			return harness.Eventually(func() error {
				authority, err := m.Kubectl("get", "secret", "web", "--namespace", namespace, "--output", `jsonpath={.data.ca\.crt}`)
				if err != nil {
					return err
				}
				injected, err := m.Kubectl("get", "apiservice", "v1.judges.kubewright.dev", "--output", "jsonpath={.spec.caBundle}")
				if err == nil && injected != authority {
					err = errors.New("the CA of the APIService is not that of the Certificate")
				}
				return err
			})
		},
		m.kubectl("delete", "apiservice", "v1.judges.kubewright.dev"),
	)
}
