use std::{
    io::Write,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use ccbcut::random::Random;
use serde_json::json;

use crate::support::{Answer, Server, order, scene};

/// A number from the environment, for runs longer than a test should be.
fn setting(name: &str, usual: usize) -> usize {
    std::env::var(name)
        .ok()
        .map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`")))
}

/// The photograph that `CCBCUT_PHOTO` names, if any.
fn photo() -> Option<Vec<u8>> {
    let path = std::env::var_os("CCBCUT_PHOTO")?;
    Some(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// What clients upload, as PNG files: pieces of the photograph of several sizes, or drawn scenes.
fn uploads(client: usize, round: usize, pieces: &[Vec<u8>]) -> Vec<u8> {
    // Sizes differ, so that graphs and cuts do too.
    let drawn = || scene(24 + client % 7, 32 + round % 9);
    pieces.get((client + round) % pieces.len().max(1)).cloned().unwrap_or_else(drawn)
}

fn pieces() -> Vec<Vec<u8>> {
    let Some(photo) = photo() else { return Vec::new() };
    let whole = image::load_from_memory(&photo).unwrap();
    let piece = |at: u32| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let part = whole.crop_imm(at, at, whole.width() - 2 * at, whole.height() - 2 * at);
        part.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
        bytes.into_inner()
    };
    (0..7).map(piece).collect()
}

/// Clients that each upload an image of their own, cut it, look at it, take files away, and begin again. The full run:
/// `CCBCUT_LOAD_CLIENTS=50 CCBCUT_LOAD_SECONDS=30 CCBCUT_PHOTO=photo.jpg cargo test --release -p ccbcut-cli --test serve load -- --nocapture`.
#[test]
fn every_request_of_many_clients_is_answered_and_memory_is_bounded() {
    let (clients, seconds) = (setting("CCBCUT_LOAD_CLIENTS", 12), setting("CCBCUT_LOAD_SECONDS", 3));
    let pieces = pieces();
    let cache = if pieces.is_empty() { "64" } else { "512" };
    let mut server = Server::start(&["--queue", "8", "--cache", cache]);
    let until = Instant::now() + Duration::from_secs(seconds as u64);
    let (answered, busy, gone) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let count = |answer: Answer| {
        answered.fetch_add(1, Ordering::Relaxed);
        if answer.status == 429 {
            busy.fetch_add(1, Ordering::Relaxed);
            assert!(answer.header("retry-after").is_some());
        } else {
            assert!((200..300).contains(&answer.status), "{}: {}", answer.status, answer.text());
        }
        answer
    };
    std::thread::scope(|scope| {
        for client in 0..clients {
            let (server, count, pieces, gone) = (&server, &count, &pieces, &gone);
            scope.spawn(move || {
                let mut round = 0;
                while Instant::now() < until {
                    round += 1;
                    let png = uploads(client, round, pieces);
                    let added = count(server.ask("POST", &format!("/api/images?name=c{client}.png"), &png));
                    if added.status == 429 {
                        continue;
                    }
                    let image = added.json()["id"].as_str().unwrap().to_owned();
                    let tau = 0.5 + 0.1 * (round % 10) as f64;
                    let settings = json!({ "settings": { "tau": tau } });
                    let job = server.post_job(&order(&format!("c{client}"), &image, 3, &settings));
                    // What others pushed out of the store is gone; that is an answer, too.
                    if job.status == 404 {
                        gone.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let job = count(job);
                    count(server.get("/"));
                    count(server.get("/api/toy?family=ccn&alpha=0.3&knob=1"));
                    if job.status == 429 {
                        continue;
                    }
                    let (kind, data) = server.events(job.json()["job"].as_str().unwrap()).pop().unwrap();
                    assert_eq!(kind, "done", "{data}");
                    let cut = data["cut"].as_str().unwrap();
                    for path in ["labels?k=3", "view?k=3", "export/labels.png?k=3", "export/overlay.png?k=3"]
                    {
                        let answer = server.get(&format!("/api/cuts/{cut}/{path}"));
                        if answer.status == 404 {
                            gone.fetch_add(1, Ordering::Relaxed);
                        } else {
                            count(answer);
                        }
                    }
                }
            });
        }
    });
    assert!(server.is_alive());
    let (answered, busy, peak) = (answered.into_inner(), busy.into_inner(), server.peak_bytes() >> 20);
    let gone = gone.into_inner();
    println!(
        "{clients} clients, {seconds} s: {answered} requests answered, {busy} of them by 429, and {gone} by 404; {peak} MiB at most"
    );
    assert!(answered > clients, "only {answered} requests");
    // What is kept, what two workers need, and what is on its way to the clients.
    let most = if pieces.is_empty() { 700 } else { 2500 };
    assert!(peak < most, "{peak} MiB");
}

#[test]
fn clients_that_go_away_leave_no_trace() {
    let server = Server::start(&[]);
    for round in 0..300 {
        let mut stream = server.connect();
        let host = format!("Host: localhost:{}\r\n", server.port);
        let path = if round % 2 == 0 { "/api/toy/map?family=ccr" } else { "/api/images/given-0/picture" };
        let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\n{host}\r\n").as_bytes());
        drop(stream);
    }
    for _ in 0..20 {
        let answer = server.get("/api/status");
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

/// Files that were images before bits were flipped, pieces cut out, doubled or overwritten. The full run:
/// `CCBCUT_FUZZ=10000 CCBCUT_PHOTO=photo.jpg cargo test --release -p ccbcut-cli --test serve fuzz -- --nocapture`.
#[test]
fn fuzzed_uploads_are_refused_or_read_and_never_break_the_server() {
    let rounds = setting("CCBCUT_FUZZ", 400);
    let mut server = Server::start(&["--max-pixels", "1000000"]);
    let seeds = seeds();
    let mut random = Random::new(11);
    let mut counts = [0_usize; 3];
    for round in 0..rounds {
        let bytes = mutated(&seeds[round % seeds.len()], &mut random);
        let answer = server.ask("POST", "/api/images?name=fuzz", &bytes);
        let slot = match answer.status {
            201 => 0,
            422 => 1,
            413 => 2,
            status => panic!("round {round}: {status} {}", answer.text()),
        };
        counts[slot] += 1;
    }
    assert!(server.is_alive() && server.get("/api/status").status == 200);
    println!(
        "{rounds} files: {} read, {} refused, {} too large; {} MiB",
        counts[0],
        counts[1],
        counts[2],
        server.peak_bytes() >> 20
    );
    assert!(counts[1] > 0 && counts[0] > 0, "{counts:?}");
    assert!(server.peak_bytes() >> 20 < 700);
}

/// One small image in every format that is read, and the photograph as it is.
fn seeds() -> Vec<Vec<u8>> {
    use image::{ImageFormat, RgbImage};
    let picture =
        RgbImage::from_fn(24, 16, |x, y| image::Rgb([(x * 10) as u8, (y * 15) as u8, ((x ^ y) * 8) as u8]));
    let mut seeds: Vec<Vec<u8>> = [
        ImageFormat::Png,
        ImageFormat::Jpeg,
        ImageFormat::Tiff,
        ImageFormat::WebP,
        ImageFormat::Bmp,
        ImageFormat::Pnm,
    ]
    .iter()
    .map(|format| {
        let mut bytes = std::io::Cursor::new(Vec::new());
        image::DynamicImage::ImageRgb8(picture.clone()).write_to(&mut bytes, *format).unwrap();
        bytes.into_inner()
    })
    .collect();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (16, 24, 3), }";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    let padded = format!("{header:<117}\n");
    npy.extend((padded.len() as u16).to_le_bytes());
    npy.extend(padded.bytes());
    npy.extend(picture.as_raw());
    seeds.push(npy);
    seeds.extend(photo());
    seeds
}

fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let mut below = |n: usize| ((random.uniform() * n as f64) as usize).min(n.saturating_sub(1));
    for _ in 0..=below(4) {
        if bytes.is_empty() {
            break;
        }
        let (at, kind) = (below(bytes.len()), below(6));
        match kind {
            0 => bytes[at] ^= 1 << below(8),
            // Heads say how large things are.
            1 => {
                let at = below(bytes.len().min(64));
                bytes[at] = [0, 1, 127, 128, 255][below(5)];
            }
            2 => bytes.truncate(at),
            3 => {
                let end = (at + below(32)).min(bytes.len());
                bytes.drain(at..end);
            }
            4 => {
                let end = (at + below(32)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let end = (at + 4).min(bytes.len());
                bytes[at..end].fill(255);
            }
        }
    }
    bytes
}
