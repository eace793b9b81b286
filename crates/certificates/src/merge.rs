//! Our authorities in a bundle that others write, too.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use crate::TrustBundle;

impl TrustBundle {
    /// Reads every certificate in PEM, as an API server reads a `caBundle`: ignores what is not a certificate.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError, TrustBundle};
    /// let trust = Authority::new("ca")?.trust();
    /// let text = format!("# our CA\n{}-----BEGIN CERTIFICATE-----\ntruncated", trust.to_pem());
    /// assert_eq!(TrustBundle::found_in(text), trust);
    /// assert!(TrustBundle::found_in("no PEM at all").is_empty());
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn found_in(text: impl AsRef<[u8]>) -> Self {
        let pieces = pieces(text.as_ref()).into_iter();
        Self::of(pieces.filter_map(|piece| piece.certificate).collect())
    }

    /// Returns whether this bundle contains every CA of `other`.
    ///
    /// ```
    /// # use kubewright_certificates::{Authority, CertificateError};
    /// let (ours, theirs) = (Authority::new("ours")?.trust(), Authority::new("theirs")?.trust());
    /// assert!(theirs.and(&ours).includes(&ours));
    /// assert!(!theirs.includes(&ours));
    /// # Ok::<(), CertificateError>(())
    /// ```
    pub fn includes(&self, other: &Self) -> bool {
        let own = self.certificates();
        other
            .certificates()
            .iter()
            .all(|certificate| own.contains(certificate))
    }

    /// Adds these authorities to a PEM bundle that other programs write, too, and removes the retired ones. Keeps the rest of
    /// the bundle as it is. Returns `None` if nothing has to change.
    ///
    /// If no API server could read the bundle, because it ends within a block for example, only the certificates that can be
    /// found in it are kept.
    ///
    /// ```
    /// use kubewright_certificates::{Authority, TrustBundle};
    ///
    /// let (ours, theirs) = (Authority::new("ours")?.trust(), Authority::new("theirs")?.trust());
    /// let both = ours.merge_into(theirs.to_pem(), |_| false).unwrap();
    /// assert_eq!(both, theirs.and(&ours).to_pem().into_bytes());
    /// assert_eq!(ours.merge_into(&both, |_| false), None);
    /// # Ok::<(), kubewright_certificates::CertificateError>(())
    /// ```
    pub fn merge_into(
        &self,
        text: impl AsRef<[u8]>,
        is_retired: impl Fn(&CertificateDer<'_>) -> bool,
    ) -> Option<Vec<u8>> {
        let text = text.as_ref();
        let stays = |piece: &Piece<'_>| match &piece.certificate {
            Some(certificate) => {
                self.certificates().contains(certificate) || !is_retired(certificate)
            }
            None => true,
        };
        let kept: Vec<Piece<'_>> = pieces(text).into_iter().filter(stays).collect();
        let found = || kept.iter().filter_map(|piece| piece.certificate.clone());
        let found = Self::of(found().collect());
        let missing = self.without(&found);
        let mut merged: Vec<u8> = kept.iter().flat_map(|piece| piece.text).copied().collect();
        if !missing.is_empty() {
            if merged.last().is_some_and(|last| *last != b'\n') {
                merged.push(b'\n');
            }
            merged.extend(missing.to_pem().into_bytes());
        }
        if !merged.is_empty() && !is_sound(&merged) {
            merged = found.and(self).to_pem().into_bytes();
        }
        (merged != text).then_some(merged)
    }

    fn without(&self, others: &Self) -> Self {
        let others = others.certificates();
        let own = self.certificates().iter();
        Self::of(own.filter(|one| !others.contains(one)).cloned().collect())
    }
}

/// A part of a bundle: a block, or the text between two blocks.
struct Piece<'a> {
    text: &'a [u8],
    certificate: Option<CertificateDer<'static>>,
}

fn pieces(mut text: &[u8]) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    while !text.is_empty() {
        let piece = match find(text, BEGIN) {
            Some(0) => block(text),
            Some(start) => Piece::between(&text[..start]),
            None => Piece::between(text),
        };
        text = &text[piece.text.len()..];
        pieces.push(piece);
    }
    pieces
}

/// The block at the beginning of a text, with the end of its last line.
fn block(text: &[u8]) -> Piece<'_> {
    let inside = &text[BEGIN.len()..];
    let end = find(inside, END).map(|end| BEGIN.len() + end + END.len());
    let next = find(inside, BEGIN).map_or(text.len(), |next| BEGIN.len() + next);
    let Some(end) = end.filter(|end| *end <= next) else {
        return Piece::between(&text[..next]);
    };
    let line_end = text[end..]
        .iter()
        .take_while(|byte| matches!(**byte, b'\r' | b'\n'))
        .count();
    let text = &text[..end + line_end];
    Piece {
        text,
        certificate: CertificateDer::from_pem_slice(text)
            .ok()
            .filter(|der| x509_parser::parse_x509_certificate(der).is_ok()),
    }
}

impl<'a> Piece<'a> {
    fn between(text: &'a [u8]) -> Self {
        Self {
            text,
            certificate: None,
        }
    }
}

/// Whether an API server would take a text as it is.
fn is_sound(text: &[u8]) -> bool {
    TrustBundle::from_pem(text).is_ok()
}

fn find(text: &[u8], words: &[u8]) -> Option<usize> {
    text.windows(words.len()).position(|part| part == words)
}

const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
const END: &[u8] = b"-----END CERTIFICATE-----";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Authority;

    fn authority(name: &str) -> TrustBundle {
        Authority::new(name).unwrap().trust()
    }

    fn merged(ours: &TrustBundle, text: &str, retired: &TrustBundle) -> Option<String> {
        let is_retired = |one: &CertificateDer<'_>| retired.certificates().contains(one);
        let merged = ours.merge_into(text, is_retired)?;
        Some(String::from_utf8(merged).unwrap())
    }

    #[test]
    fn what_others_write_stays_to_the_letter_and_ours_follows() {
        let (ours, theirs) = (authority("ours"), authority("theirs"));
        let none = TrustBundle::default();
        for text in [
            String::new(),
            theirs.to_pem(),
            theirs.to_pem().replace('\n', "\r\n"),
            format!("# theirs\n{}# the end\n", theirs.to_pem()),
            "\n".to_owned(),
        ] {
            let both = merged(&ours, &text, &none).unwrap();
            assert_eq!(both, format!("{text}{}", ours.to_pem()));
            assert_eq!(merged(&ours, &both, &none), None);
        }
        let open = theirs.to_pem();
        let open = open.trim_end();
        let both = merged(&ours, open, &none).unwrap();
        assert_eq!(both, format!("{open}\n{}", ours.to_pem()));
    }

    #[test]
    fn order_and_repetition_are_no_difference() {
        let (one, two) = (authority("one"), authority("two"));
        let text = format!("{}{}{}", two.to_pem(), one.to_pem(), two.to_pem());
        assert_eq!(merged(&one.and(&two), &text, &TrustBundle::default()), None);
    }

    #[test]
    fn what_is_retired_goes_and_nothing_else() {
        let (old, new, theirs) = (authority("old"), authority("new"), authority("theirs"));
        let text = format!("{}# a\n{}{}", old.to_pem(), theirs.to_pem(), new.to_pem());
        let left = format!("# a\n{}{}", theirs.to_pem(), new.to_pem());
        assert_eq!(merged(&new, &text, &old), Some(left));
        // A bundle that is out of date says that what is needed is retired.
        assert_eq!(merged(&new, &new.to_pem(), &new), None);
        assert_eq!(
            merged(&TrustBundle::default(), &old.to_pem(), &old),
            Some(String::new())
        );
    }

    #[test]
    fn what_no_api_server_could_read_makes_room() {
        let (ours, theirs) = (authority("ours"), authority("theirs"));
        let none = TrustBundle::default();
        let half = &theirs.to_pem()[..200];
        let garbled = theirs.to_pem().replacen("MII", "!!!", 1);
        for broken in [half, &garbled] {
            let text = format!("{broken}\n{}", theirs.to_pem());
            let both = merged(&ours, &text, &none).unwrap();
            assert_eq!(both, theirs.and(&ours).to_pem(), "{broken}");
        }
        assert_eq!(merged(&ours, half, &none), Some(ours.to_pem()));
        let bytes = [0xff, 0xfe, b'\n'];
        let both = ours.merge_into(bytes, |_| false).unwrap();
        assert!(TrustBundle::found_in(both).includes(&ours));
    }

    #[test]
    fn certificates_are_found_among_other_things() {
        let (one, two) = (authority("one"), authority("two"));
        let text = format!(
            "x{}\n{}{}",
            one.to_pem(),
            &two.to_pem()[..100],
            two.to_pem()
        );
        let found = TrustBundle::found_in(text);
        assert_eq!(found, one.and(&two));
        assert!(found.includes(&two) && !one.includes(&two));
        assert!(TrustBundle::found_in("").is_empty());
    }
}
