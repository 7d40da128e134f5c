//! Who may ask: browsers that opened this server's own page, and nobody else.
//!
//! A page of another site can make a browser send requests to this machine, and a name that another site owns can be
//! pointed at it (DNS rebinding). So the `Host` must be a name of this server, an `Origin` must be this server, and what
//! browsers say about the sender must not be "another site". Beyond loopback a token is needed as well.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    net::{IpAddr, SocketAddr},
};

use hyper::{
    HeaderMap,
    header::{self, HeaderName},
};

use crate::{
    http::{query, text_of},
    problem::Problem,
};

/// The name of the cookie that holds the token.
const COOKIE: &str = "ccbcut-token";

/// What requests are checked against.
#[derive(Debug, Clone)]
pub struct Guard {
    /// Names this server answers to, with its port; empty for any, which needs a token.
    hosts: Vec<String>,
    token: Option<String>,
}

impl Guard {
    /// For a server that listens at `address`, asked for by the name `host`; a token is made unless that is loopback.
    pub fn new(address: SocketAddr, host: Option<&str>) -> Self {
        let port = address.port();
        let token = (!address.ip().is_loopback()).then(random_token);
        let mut hosts: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].iter().map(|name| format!("{name}:{port}")).collect();
        if address.ip().is_unspecified() {
            hosts.clear();
        } else if let Some(host) = host {
            hosts.push(match host.parse::<IpAddr>() {
                Ok(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
                _ => format!("{}:{port}", host.to_ascii_lowercase()),
            });
        }
        Self { hosts, token }
    }

    /// The token, where one is needed.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Whether a request may be answered; the text is a cookie to set.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, headers: &HeaderMap, words: &str, is_page: bool) -> Result<Option<String>, Problem> {
        let host = text_of(headers, header::HOST).unwrap_or_default().to_ascii_lowercase();
        let is_known = self.hosts.is_empty() || self.hosts.contains(&host);
        if !is_known {
            return Err(Problem::forbidden(format!("this server is not `{host}`")));
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = text_of(headers, header::ORIGIN).unwrap_or_default().to_ascii_lowercase();
            if origin.strip_prefix("http://") != Some(&host) {
                return Err(Problem::forbidden(format!("pages of `{origin}` may not use this server")));
            }
        }
        // A link from anywhere may open the page; only the page itself may use the rest.
        let site = text_of(headers, HeaderName::from_static("sec-fetch-site")).unwrap_or("none");
        if !is_page && !matches!(site, "same-origin" | "none") {
            return Err(Problem::forbidden("other sites may not use this server"));
        }
        let Some(token) = &self.token else { return Ok(None) };
        let cookies = text_of(headers, header::COOKIE).unwrap_or_default();
        let has_cookie = cookies
            .split(';')
            .filter_map(|cookie| cookie.trim().split_once('='))
            .any(|(name, value)| name == COOKIE && same(value, token));
        if has_cookie {
            return Ok(None);
        }
        match query(words).get("token").filter(|given| same(given, token)) {
            Some(_) => Ok(Some(format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"))),
            None => Err(Problem::unauthorized()),
        }
    }
}

/// Compares without telling by its time where two tokens differ.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

/// 128 bits nobody can guess: hashes under keys that the operating system drew.
fn random_token() -> String {
    let draw = |number: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(number);
        hasher.finish()
    };
    format!("{:016x}{:016x}", draw(1), draw(2))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn status(guard: &Guard, pairs: &[(&'static str, &str)], words: &str, is_page: bool) -> u16 {
        guard.check(&headers(pairs), words, is_page).map_or_else(|p| p.status.as_u16(), |_| 200)
    }

    #[test]
    fn only_this_servers_own_names_and_pages_are_answered() {
        let guard = Guard::new("127.0.0.1:7878".parse().unwrap(), None);
        assert_eq!(guard.token(), None);
        let at = |pairs: &[(&'static str, &str)]| status(&guard, pairs, "", false);
        assert_eq!(at(&[("host", "127.0.0.1:7878")]), 200);
        assert_eq!(at(&[("host", "LocalHost:7878"), ("origin", "http://localhost:7878")]), 200);
        assert_eq!(at(&[("host", "[::1]:7878"), ("sec-fetch-site", "same-origin")]), 200);
        for host in ["evil.example:7878", "localhost", "localhost:80", "127.0.0.1.evil.example:7878", ""] {
            assert_eq!(at(&[("host", host)]), 403, "{host}");
        }
        assert_eq!(at(&[]), 403);
        for origin in ["http://evil.example", "null", "https://localhost:7878", "http://localhost:1", ""] {
            assert_eq!(at(&[("host", "localhost:7878"), ("origin", origin)]), 403, "{origin}");
        }
        for site in ["cross-site", "same-site"] {
            let pairs = [("host", "localhost:7878"), ("sec-fetch-site", site)];
            assert_eq!((at(&pairs), status(&guard, &pairs, "", true)), (403, 200), "{site}");
        }
    }

    #[test]
    fn beyond_loopback_a_token_is_needed() {
        let guard = Guard::new("0.0.0.0:80".parse().unwrap(), Some("0.0.0.0"));
        let token = guard.token().unwrap().to_owned();
        assert!(token.len() == 32 && token != random_token());
        let host = ("host", "box.lan:80");
        assert_eq!(status(&guard, &[host], "", true), 401);
        assert_eq!(status(&guard, &[host], "token=0", true), 401);
        let cookie = guard.check(&headers(&[host]), &format!("token={token}"), true).unwrap().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict"));
        let cookie = format!("a=b; {}", cookie.split(';').next().unwrap());
        assert_eq!(status(&guard, &[host, ("cookie", &cookie)], "", false), 200);
        assert_eq!(status(&guard, &[host, ("cookie", "ccbcut-token=x")], "", false), 401);
        assert_eq!(status(&guard, &[host, ("cookie", &cookie), ("origin", "http://a.b")], "", false), 403);
        let named = Guard::new("192.168.0.7:80".parse().unwrap(), Some("192.168.0.7"));
        assert_eq!(status(&named, &[("host", "evil.example:80")], "", true), 403);
        assert_eq!(status(&named, &[("host", "192.168.0.7:80")], "", true), 401);
    }
}
