use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

/// A running `ccbcut serve`; it goes with this.
pub struct Server {
    child: Child,
    pub port: u16,
    pub url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary.
pub fn ccbcut() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccbcut"));
    command.stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

impl Server {
    /// Starts one at a free port.
    pub fn start(words: &[&str]) -> Self {
        let mut command = ccbcut();
        command.args(["serve", "--port", "0"]).args(words).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().to_owned();
        let port =
            url.strip_prefix("http://").unwrap().split('/').next().unwrap().rsplit(':').next().unwrap();
        Self { child, port: port.parse().unwrap(), url }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends a request with headers of its own choice.
    pub fn raw(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(b"Connection: close\r\n\r\n");
        let _ = stream.write_all(body);
        Answer::read(stream)
    }

    /// An ordinary request.
    pub fn ask(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let length =
            if method == "POST" { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        self.raw(&format!("{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\n{length}", self.port), body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, b"")
    }

    /// The JSON of a request that must succeed.
    #[track_caller]
    pub fn json(&self, path: &str) -> Value {
        self.get(path).json()
    }

    /// Adds an image and says its address.
    #[track_caller]
    pub fn add(&self, name: &str, bytes: &[u8]) -> String {
        let answer = self.ask("POST", &format!("/api/images?name={name}"), bytes);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Starts a job.
    pub fn post_job(&self, order: &Value) -> Answer {
        self.ask("POST", "/api/jobs", order.to_string().as_bytes())
    }

    /// All events of a job, once it has ended: kind and data.
    #[track_caller]
    pub fn events(&self, job: &str) -> Vec<(String, Value)> {
        let answer = self.get(&format!("/api/jobs/{job}/events"));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let text = answer.text();
        let line = |piece: &str, name: &str| {
            piece.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned)).unwrap_or_default()
        };
        let pieces = text.split("\n\n").filter(|piece| piece.contains("event: "));
        pieces.map(|p| (line(p, "event: "), serde_json::from_str(&line(p, "data: ")).unwrap())).collect()
    }

    /// Runs a job and returns its last event.
    #[track_caller]
    pub fn run_job(&self, order: &Value) -> (String, Value) {
        let answer = self.post_job(order);
        assert_eq!(answer.status, 202, "{}", answer.text());
        let job = answer.json()["job"].as_str().unwrap().to_owned();
        self.events(&job).pop().unwrap()
    }

    /// Runs a job that must succeed, and returns what it made.
    #[track_caller]
    pub fn done(&self, order: &Value) -> Value {
        let (kind, data) = self.run_job(order);
        assert_eq!(kind, "done", "{data}");
        data
    }

    /// The most memory that the server has held, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() << 10
    }

    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Asks it to end as Ctrl-C does, and says how it ended.
    pub fn interrupt(&mut self) -> Option<i32> {
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        self.child.wait().unwrap().code()
    }
}

/// An order for a cut.
pub fn order(tab: &str, image: &str, k: usize, more: &Value) -> Value {
    let mut order = json!({ "tab": tab, "image": image, "k": k });
    for (key, value) in more.as_object().unwrap() {
        order[key] = value.clone();
    }
    order
}

/// A reply.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let Some(end) = all.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Self { status: 0, head: String::new(), body: all };
        };
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = all.split_off(end + 4);
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        Self { status, body: if is_chunked { joined(&body) } else { body }, head }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text());
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The pieces of a chunked body.
fn joined(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16).unwrap_or(0);
        if size == 0 || rest.len() < end + 2 + size {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[(end + 4 + size).min(rest.len())..];
    }
    body
}

/// Four fields of colour and a spot, with a little texture, as a PNG.
pub fn scene(height: usize, width: usize) -> Vec<u8> {
    let color = |row: usize, column: usize| {
        let base: [u8; 3] = match (row < height / 2, column < width * 2 / 5) {
            (true, true) => [200, 70, 50],
            (true, false) => [50, 120, 190],
            (false, true) => [90, 200, 80],
            (false, false) => [210, 190, 90],
        };
        let is_spot = (row as f64 - 8.0).hypot(column as f64 - 0.8 * width as f64) < 4.0;
        let texture = ((row * 7 + column * 13) % 9) as u8;
        if is_spot { [240; 3] } else { base.map(|v| v + texture) }
    };
    let rgb: Vec<u8> = (0..height * width).flat_map(|p| color(p / width, p % width)).collect();
    ccbcut_io::encode_png(&PathBuf::from("scene.png"), height, width, &rgb).unwrap()
}
