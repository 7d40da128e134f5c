use std::{
    io::{Read, Write},
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::{Server, ccbcut, order, scene};

#[test]
fn the_page_and_its_files_come_with_a_strict_policy() {
    let server = Server::start(&[]);
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    for path in ["/", "/page/main.js", "/page/style.css", "/api/status", "/api/no-such"] {
        let answer = server.get(path);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    }
    assert_eq!(server.get("/page/main.js").header("content-type"), Some("text/javascript; charset=utf-8"));
}

#[test]
fn other_sites_and_other_names_are_refused() {
    let server = Server::start(&[]);
    let port = server.port;
    let ask = |headers: &str| server.raw(&format!("GET /api/images HTTP/1.1\r\n{headers}"), b"").status;
    assert_eq!(ask(&format!("Host: 127.0.0.1:{port}\r\n")), 200);
    assert_eq!(ask(&format!("Host: evil.example:{port}\r\n")), 403);
    assert_eq!(ask("Host: localhost\r\n"), 403);
    let own = format!("Host: localhost:{port}\r\n");
    assert_eq!(ask(&format!("{own}Origin: http://localhost:{port}\r\n")), 200);
    assert_eq!(ask(&format!("{own}Origin: http://evil.example\r\n")), 403);
    assert_eq!(ask(&format!("{own}Origin: null\r\n")), 403);
    assert_eq!(ask(&format!("{own}Sec-Fetch-Site: cross-site\r\n")), 403);
    let job = format!("POST /api/jobs HTTP/1.1\r\n{own}Origin: http://evil.example\r\nContent-Length: 2\r\n");
    assert_eq!(server.raw(&job, b"{}").status, 403);
}

#[test]
fn no_path_from_the_network_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.png"), scene(20, 30)).unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let server = Server::start(&[folder.path().to_str().unwrap()]);
    let list = server.json("/api/images");
    assert_eq!(list[0]["name"], "a.png");
    assert_eq!(list.as_array().unwrap().len(), 2, "the image of the folder and the drawn scene");
    for path in [
        "/page/..%2f..%2fCargo.toml",
        "/page/../Cargo.toml",
        "/page/%2e%2e",
        "/api/images/..%2fsecret.txt",
        "/api/images/%2fetc%2fpasswd",
        "/api/images/secret.txt/picture",
        "/api/cuts/..%2f..%2fx/export/labels.png?k=1",
        "/etc/passwd",
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        assert!(!answer.text().contains(folder.path().to_str().unwrap()));
    }
    // The name of an upload is a name, never a place.
    let id = server.add("..%2f..%2fevil.png", &scene(20, 30));
    assert_eq!(server.json(&format!("/api/images/{id}"))["name"], "evil.png");
}

#[test]
fn sizes_are_checked_before_anything_is_read_or_decoded() {
    let server = Server::start(&["--max-pixels", "100000", "--max-upload", "1"]);
    let host = format!("Host: localhost:{}\r\n", server.port);
    let post = |length: &str, body: &[u8]| {
        server.raw(&format!("POST /api/images?name=a HTTP/1.1\r\n{host}{length}"), body).status
    };
    assert_eq!(post("Content-Length: 99999999999\r\n", b""), 413);
    assert_eq!(post("Transfer-Encoding: chunked\r\n", b"0\r\n\r\n"), 411);
    assert_eq!(post("Content-Length: 8\r\n", b"no image"), 422);
    assert_eq!(post("Content-Length: 0\r\n", b""), 422);
    // A header that promises sixty thousand columns and rows is refused by what it says.
    let mut bomb = scene(16, 16);
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let crc = crc(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&crc.to_be_bytes());
    let answer = server.ask("POST", "/api/images?name=bomb.png", &bomb);
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("60000 x 60000"), "{}", answer.text());
    // A body where none belongs.
    assert_eq!(
        server.raw(&format!("GET /api/status HTTP/1.1\r\n{host}Content-Length: 3\r\n"), b"abc").status,
        400
    );
    assert_eq!(server.ask("DELETE", "/api/images", b"").status, 405);
    let long = "x".repeat(70_000);
    assert_eq!(server.raw(&format!("GET /{long} HTTP/1.1\r\n{host}"), b"").status / 100, 4);
}

/// The check sum of PNG.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(
            crc ^ u32::from(byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn a_client_that_never_finishes_its_head_is_shown_the_door() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let mut stream = server.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(start.elapsed() > Duration::from_secs(5) && start.elapsed() < Duration::from_secs(60));
    assert_eq!(server.get("/api/status").status, 200);
}

#[test]
fn beyond_loopback_there_is_a_token() {
    let server = Server::start(&["--host", "0.0.0.0"]);
    assert_eq!(server.get("/").status, 401);
    assert_eq!(server.get("/api/status").status, 401);
    let token = server.url.split("?token=").nth(1).unwrap();
    let page = server.get(&format!("/?token={token}"));
    assert_eq!(page.status, 200);
    let cookie = page.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let cookie = cookie.split(';').next().unwrap();
    let ask = |path: &str, cookie: &str| {
        let host = format!("Host: box.lan:{}\r\nCookie: {cookie}\r\n", server.port);
        server.raw(&format!("GET {path} HTTP/1.1\r\n{host}"), b"").status
    };
    assert_eq!((ask("/api/status", cookie), ask("/api/status", "ccbcut-token=0")), (200, 401));
    // Without --host nothing but loopback is listened to, and there is no token.
    assert!(!Server::start(&[]).url.contains("token"));
}

#[test]
fn nonsense_is_answered_with_its_reason() {
    let server = Server::start(&[]);
    let image = server.add("a.png", &scene(24, 32));
    let refused = |order: &serde_json::Value| {
        let answer = server.post_job(order);
        (answer.status, answer.text())
    };
    for (more, word) in [
        (json!({ "settings": { "tau": 3 } }), "tau"),
        (json!({ "settings": { "affinity": "lab --output x" } }), "affinity"),
        (json!({ "settings": { "output": "x" } }), "output"),
        (json!({ "edits": "x1" }), "edit"),
        (json!({ "leaves": 100_000 }), "k is"),
        (json!({ "tab": "../x" }), "tab"),
    ] {
        let (status, text) = refused(&order("t", &image, 3, &more));
        assert!((status == 400 || status == 422) && text.contains(word), "{more}: {status} {text}");
    }
    assert_eq!(refused(&order("t", "nowhere", 3, &json!({}))).0, 404);
    assert_eq!(server.ask("POST", "/api/jobs", b"{").status, 400);
    let (kind, data) = server.run_job(&order("t", &image, 3, &json!({ "settings": { "affinity": "hue" } })));
    assert!(kind == "failed" && data["detail"].as_str().unwrap().contains("hue"), "{data}");
    for path in ["/api/toy?family=x&alpha=1&knob=1", "/api/toy?family=ccn&alpha=9&knob=1", "/api/toy/map"] {
        assert_eq!(server.get(path).status, 422, "{path}");
    }
}

#[test]
fn the_description_and_the_server_agree() {
    let server = Server::start(&[]);
    let document = server.json("/api/openapi.json");
    assert!(document["openapi"].as_str().unwrap().starts_with("3."));
    let mut n = 0;
    for (path, entry) in document["paths"].as_object().unwrap() {
        for (method, operation) in entry.as_object().unwrap() {
            // Any word does in the path: there must be something that answers, if only that it has no such thing.
            let mut address = path.clone();
            for parameter in operation["parameters"].as_array().unwrap() {
                let name = parameter["name"].as_str().unwrap();
                address = address.replace(&format!("{{{name}}}"), "7");
            }
            let answer = server.ask(&method.to_ascii_uppercase(), &address, b"");
            assert!(answer.status != 405 && answer.status < 500, "{method} {path}: {}", answer.text());
            let is_unrouted = answer.text().contains("no such address");
            assert!(!is_unrouted, "{method} {path} is described but not there");
            let returns = &operation["responses"]["2XX"]["content"];
            if answer.status < 300 && path != "/page/{file}" {
                let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
                assert!(returns[kind].is_object(), "{method} {path} is {kind}");
            }
            n += 1;
        }
    }
    assert!(n >= 20);
    assert!(server.get("/api/nowhere").text().contains("no such address"));
}

#[test]
fn ctrl_c_ends_it_and_a_taken_port_is_named() {
    let mut server = Server::start(&[]);
    let port = server.port.to_string();
    let second = ccbcut().args(["serve", "--port", &port]).output().unwrap();
    let text = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(text.contains(&port) && text.contains("--port 0"), "{text}");
    assert_eq!(server.interrupt(), Some(0));
    let missing = ccbcut().args(["serve", "no-such-image.png"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
