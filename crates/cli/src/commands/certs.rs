//! `kubewright certs`: a certificate authority and a server certificate, as PEM files.
