//! Why an etcd member gave no answer, and whether it refused or may have acted all the same.
//!
//! Does not know what was asked.

use std::time::Duration;

use crate::error::Chain;

/// etcd's own check of a membership change, made before anything happens, though with the code of a lost connection.
const UNHEALTHY: &str = "etcdserver: unhealthy cluster";

/// Why an etcd member gave no answer, or what it answered instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The pod's address is no IP address.
    #[error("{address:?} is not an IP address")]
    Address {
        /// What stands in the pod's status.
        address: String,
    },
    /// The member speaks TLS and the operator has nothing to show, and why.
    #[error("it speaks TLS with clients, and the operator has no certificate to show: {why}")]
    NoIdentity {
        /// What is missing.
        why: String,
    },
    /// The operator's certificate, its key or its authorities cannot be used.
    #[error("the operator's certificate cannot be used")]
    Identity(#[source] Box<tonic::transport::Error>),
    /// No answer in time. A change may have been made nevertheless.
    #[error("no answer within {within:?}")]
    Silent {
        /// The limit.
        within: Duration,
    },
    /// The member answered with an error, or the connection failed.
    #[error("{}", words(.0))]
    Call(Box<tonic::Status>),
    /// The client library refused to make the call.
    #[error("the call could not be made")]
    Client(#[source] Box<etcd_client::Error>),
    /// The answer lacks what every etcd sends.
    #[error("the answer has no header")]
    Headless,
}

impl Error {
    /// Whether the member asked takes one of its own connections to voters for broken or too young.
    #[must_use]
    pub fn is_of_connections(&self) -> bool {
        matches!(self, Self::Call(status) if status.message().starts_with(UNHEALTHY))
    }

    /// Whether etcd received the call and refused it: then nothing happened.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Call(_) if self.is_of_connections() => true,
            Self::Call(status) => match status.code() {
                tonic::Code::FailedPrecondition
                | tonic::Code::InvalidArgument
                | tonic::Code::NotFound
                | tonic::Code::AlreadyExists
                | tonic::Code::PermissionDenied
                | tonic::Code::Unauthenticated
                | tonic::Code::Unimplemented
                | tonic::Code::OutOfRange => true,
                tonic::Code::Ok
                | tonic::Code::Cancelled
                | tonic::Code::Unknown
                | tonic::Code::DeadlineExceeded
                | tonic::Code::ResourceExhausted
                | tonic::Code::Aborted
                | tonic::Code::Internal
                | tonic::Code::Unavailable
                | tonic::Code::DataLoss => false,
            },
            Self::Address { .. } | Self::NoIdentity { .. } | Self::Identity(_) => true,
            Self::Silent { .. } | Self::Client(_) | Self::Headless => false,
        }
    }
}

/// etcd's or the transport's own words, without the wrapping of the library.
fn words(status: &tonic::Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => Chain(source).to_string(),
        None => status.message().to_owned(),
    }
}

impl From<etcd_client::Error> for Error {
    fn from(error: etcd_client::Error) -> Self {
        if let etcd_client::Error::GRpcStatus(status) = error {
            return Self::Call(Box::new(status));
        }
        Self::Client(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcds_own_refusals_are_answers_and_a_broken_connection_is_not() {
        let call = |status| Error::Call(Box::new(status));
        assert!(call(tonic::Status::unavailable("etcdserver: unhealthy cluster")).is_answer());
        let lags = "etcdserver: can only promote a learner member which is in sync with leader";
        assert!(call(tonic::Status::failed_precondition(lags)).is_answer());
        assert!(!call(tonic::Status::unavailable("etcdserver: request timed out")).is_answer());
        assert!(
            !Error::Silent {
                within: Duration::from_secs(2)
            }
            .is_answer()
        );
    }
}
