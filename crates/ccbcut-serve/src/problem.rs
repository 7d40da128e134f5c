//! What a reply says when something cannot be done.

use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::json;

use crate::http::{Reply, reply};

/// A refusal: status and words, as RFC 9457 has them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// Of the reply.
    pub status: StatusCode,
    /// What was expected and what came.
    pub detail: String,
    /// After how many seconds to try again.
    pub retry_after: Option<u32>,
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), retry_after: None }
    }

    /// The request makes no sense.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The request is understood, but what it holds cannot be used.
    pub fn unusable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The request comes from where it must not.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// The token is missing or wrong.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "open the address with the token that the command printed")
    }

    /// There is no such thing, or not any more.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no such {what}, or not any more"))
    }

    /// The address is right, the verb is not.
    pub fn wrong_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take that method")
    }

    /// The body has no declared length.
    pub fn no_length() -> Self {
        Self::new(StatusCode::LENGTH_REQUIRED, "a body needs a Content-Length")
    }

    /// The body, or the image in it, is too large.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// The request took too long to arrive.
    pub fn timeout() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the request did not arrive in time")
    }

    /// There is too much to do at the moment.
    pub fn busy(what: &str) -> Self {
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, format!("{what}; try again in a moment"));
        Self { retry_after: Some(1), ..problem }
    }

    /// Something broke that should not.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// As a reply.
    pub fn reply(&self) -> Reply {
        let title = self.status.canonical_reason().unwrap_or("error");
        let body = json!({ "title": title, "status": self.status.as_u16(), "detail": self.detail });
        let mut reply = reply(self.status, "application/problem+json", body.to_string());
        if let Some(seconds) = self.retry_after {
            reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        reply
    }
}

impl From<ccbcut::Error> for Problem {
    fn from(error: ccbcut::Error) -> Self {
        Self::unusable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_server_says_when_to_come_back() {
        let reply = Problem::busy("the queue is full").reply();
        assert_eq!(
            (reply.status().as_u16(), reply.headers()[header::RETRY_AFTER].to_str().unwrap()),
            (429, "1")
        );
        assert!(Problem::not_found("image").reply().headers().get(header::RETRY_AFTER).is_none());
    }
}
