//! Requests and replies: bodies, queries, headers that keep browsers safe.

use std::{
    collections::HashMap,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::{
    HeaderMap, Response, StatusCode,
    body::{Body, Bytes, Frame, SizeHint},
    header::{self, HeaderName, HeaderValue},
};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::problem::Problem;

/// What a reply carries: bytes, or events as they come.
pub enum Content {
    /// All of it.
    Whole(Bytes),
    /// One piece after the other, until the sender goes.
    Stream(mpsc::Receiver<Bytes>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(events) => events.poll_recv(context).map(|piece| piece.map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// A reply.
pub type Reply = Response<Content>;

/// What the page may do: load from this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A reply of bytes.
pub fn reply(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Content::Whole(bytes.into()));
    *reply.status_mut() = status;
    set(&mut reply, header::CONTENT_TYPE, kind);
    reply
}

/// A reply of JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(bytes) => reply(status, "application/json", bytes),
        Err(error) => Problem::internal(error.to_string()).reply(),
    }
}

/// A reply of events.
pub fn events(pieces: mpsc::Receiver<Bytes>) -> Reply {
    let mut reply = Response::new(Content::Stream(pieces));
    set(&mut reply, header::CONTENT_TYPE, "text/event-stream");
    reply
}

/// Sets a header whose value is known to be well formed.
pub fn set(reply: &mut Reply, name: HeaderName, value: &'static str) {
    reply.headers_mut().insert(name, HeaderValue::from_static(value));
}

/// The headers that every reply has.
pub fn secured(mut reply: Reply) -> Reply {
    set(&mut reply, header::CONTENT_SECURITY_POLICY, POLICY);
    set(&mut reply, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(&mut reply, header::REFERRER_POLICY, "no-referrer");
    set(&mut reply, HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(&mut reply, HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(&mut reply, header::CACHE_CONTROL, "no-store");
    reply
}

/// One header as text.
pub fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The words of a query, decoded; the last of a name wins.
pub fn query(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

/// Percent signs and plus signs undone; what is not UTF-8 is replaced.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let value = digits.filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match (first, value.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(value)) => {
                bytes.push(value);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(first),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let words = query("k=8&name=a%20b+c%2f&k=9&&bare&odd=%zz%4");
        assert_eq!(words["k"], "9");
        assert_eq!(words["name"], "a b c/");
        assert_eq!((words["bare"].as_str(), words["odd"].as_str()), ("", "%zz%4"));
        assert_eq!(decoded("%ff"), "\u{fffd}");
        assert!(query("").is_empty());
    }

    #[test]
    fn every_reply_carries_the_policy() {
        let reply = secured(json(StatusCode::OK, &[1, 2]));
        let policy = text_of(reply.headers(), header::CONTENT_SECURITY_POLICY).unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        assert_eq!(text_of(reply.headers(), header::CACHE_CONTROL), Some("no-store"));
    }
}
