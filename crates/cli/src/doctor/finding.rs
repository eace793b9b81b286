//! Findings about a webhook, and their severity.

use std::fmt::Display;

/// One finding about a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) weight: Weight,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Good,
    /// Not verifiable from this machine.
    Doubt,
    Problem,
}

impl Weight {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Doubt => "doubt",
            Self::Problem => "problem",
        }
    }
}

/// Declares the checks with the weight and the message of what each finds; `{name}` is a parameter of the message.
macro_rules! checks {
    ($($check:ident: $weight:ident, $message:literal;)+) => {
        /// A check that can find something other than good.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Check {
            $($check,)+
        }

        impl Check {
            /// Every check, in the order of the guide's page on troubleshooting.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$check),+];

            pub(crate) fn weight(self) -> Weight {
                match self {
                    $(Self::$check => Weight::$weight,)+
                }
            }

            pub(crate) fn message(self) -> &'static str {
                match self {
                    $(Self::$check => $message,)+
                }
            }
        }
    };
}

checks! {
    NoService: Problem, "there is no Service {service}, so every call fails";
    NoServicePort: Problem, "the Service {service} has no port {port}, so every call fails";
    NoReadyEndpoint: Problem, "the Service {service} has no ready endpoint, so every call fails";
    NoEndpointSlice: Doubt, "the Service {service} has no EndpointSlice: its endpoints are unknown";
    UrlFails: Problem, "calling {url} from this machine: {error}";
    UrlIsSilent: Problem, "calling {url} from this machine: no answer within {seconds} s";
    CaBundleMissing: Doubt, "it has no caBundle: the API server verifies its certificate by the CAs of its own machine";
    CaBundleUnreadable: Problem, "its caBundle contains no certificate in PEM, so every call fails";
    CaBundleExpired: Problem, "every certificate in its caBundle has expired or is not valid yet, so every call fails";
    CaBundlePartlyExpired: Doubt, "some certificates in its caBundle have expired or are not valid yet";
    CaBundleDiffers: Problem, "{webhook} calls the same Service with another caBundle";
    LocksItselfOut: Problem, "it may keep its own program from starting: {error}";
    MatchConditions: Doubt, "its matchConditions may exclude its own program: doctor does not evaluate them";
}

impl Finding {
    pub(super) fn good(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            weight: Weight::Good,
            text,
        }
    }

    /// What `check` has found; `parameters` are the names and values of its message.
    pub(super) fn of<const N: usize>(check: Check, parameters: [(&str, &dyn Display); N]) -> Self {
        let mut text = check.message().to_owned();
        for (name, value) in parameters {
            text = text.replace(&format!("{{{name}}}"), &value.to_string());
        }
        Self {
            weight: check.weight(),
            text,
        }
    }
}
