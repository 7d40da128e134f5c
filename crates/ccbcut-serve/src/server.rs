//! The thread that talks to browsers: connections, limits, timeouts.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http_body_util::BodyExt;
use hyper::{
    Request,
    body::{Body, Bytes, Incoming},
    header::{self, HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpListener, sync::Semaphore, time::timeout};

use crate::{
    App, Config, Engine,
    answer::Question,
    guard::Guard,
    http::{self, Reply, query, text_of},
    problem::Problem,
    routes::{Action, Match, ROUTES, find},
};

/// Connections at the same time; more wait in the system's own queue.
const MAX_CONNECTIONS: usize = 256;
/// Bodies that are being received, all together, in KiB.
const BODY_ROOM_KIB: usize = 128 << 10;
/// Questions that are being answered, and those that may wait for it.
const MAX_BUSY: usize = 4;
const MAX_PATIENT: usize = 96;
/// The longest that the head, and the body, of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
const BODY_TIME: Duration = Duration::from_secs(30);
/// The longest that an answer may take; solves are jobs and have a limit of their own.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// The longest that a connection is kept.
const STAY: Duration = Duration::from_secs(600);
/// How often the server looks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// A server that listens, and does not answer yet.
pub struct Server {
    listener: std::net::TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What connections share.
struct Shared {
    app: Arc<App>,
    guard: Guard,
    connections: Arc<Semaphore>,
    body_room: Semaphore,
    busy: Semaphore,
    n_patient: AtomicUsize,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Takes the port.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn bind(config: Config, engine: Box<dyn Engine>) -> io::Result<Self> {
        let host = config.host.as_deref().unwrap_or("127.0.0.1");
        let mut addresses = (host, config.port).to_socket_addrs()?;
        let none = || io::Error::new(io::ErrorKind::AddrNotAvailable, "the host has no address");
        let listener = std::net::TcpListener::bind(addresses.next().ok_or_else(none)?)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Shared {
            guard: Guard::new(address, config.host.as_deref()),
            app: Arc::new(App::new(config, engine)),
            connections: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            body_room: Semaphore::new(BODY_ROOM_KIB),
            busy: Semaphore::new(MAX_BUSY),
            n_patient: AtomicUsize::new(0),
        };
        Ok(Self { listener, address, shared: Arc::new(shared) })
    }

    /// The address to open in a browser, with the token where one is needed.
    pub fn url(&self) -> String {
        let token = self.shared.guard.token().map(|token| format!("?token={token}")).unwrap_or_default();
        if self.address.ip().is_unspecified() {
            return format!("http://localhost:{}/{token}", self.address.port());
        }
        format!("http://{}/{token}", self.address)
    }

    /// Answers until `is_over` says so.
    ///
    /// # Errors
    /// When the system refuses threads or connections.
    pub fn run(self, is_over: impl Fn() -> bool) -> io::Result<()> {
        let Self { listener, shared, .. } = self;
        let app = Arc::clone(&shared.app);
        let workers: Vec<_> = (0..app.config.n_workers.max(1))
            .map(|number| {
                let app = Arc::clone(&app);
                std::thread::Builder::new().name(format!("worker {number}")).spawn(move || app.jobs.work())
            })
            .collect::<io::Result<_>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAX_BUSY + 1)
            .build()?;
        let served = runtime.block_on(accept(listener, shared, is_over));
        app.jobs.close();
        // What is still being answered is dropped; nothing is half-written, because nothing is written.
        runtime.shutdown_timeout(Duration::from_millis(200));
        for worker in workers {
            let _ = worker.join();
        }
        served
    }
}

async fn accept(
    listener: std::net::TcpListener,
    shared: Arc<Shared>,
    is_over: impl Fn() -> bool,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    while !is_over() {
        let room = timeout(LOOK, Arc::clone(&shared.connections).acquire_owned());
        let Ok(Ok(permit)) = room.await else { continue };
        let stream = match timeout(LOOK, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            // The peer went away, or there are no descriptors left for the moment.
            Ok(Err(_)) => {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            Err(_) => continue,
        };
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { Ok::<_, Infallible>(shared.serve(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(stream), service);
            let mut connection = std::pin::pin!(connection);
            // A connection that breaks is the browser's affair; one that stays too long is asked to go, then sent away.
            if timeout(STAY, connection.as_mut()).await.is_err() {
                connection.as_mut().graceful_shutdown();
                let _ = timeout(ANSWER_TIME, connection).await;
            }
            drop(permit);
        });
    }
    Ok(())
}

/// A place among those who wait; it is given back whatever happens, also when the browser goes away.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize) -> Option<Self> {
        let place = Self(taken);
        (taken.fetch_add(1, Ordering::SeqCst) < MAX_PATIENT).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    async fn serve(self: &Arc<Self>, request: Request<Incoming>) -> Reply {
        let reply = match self.try_serve(request).await {
            Ok(reply) => reply,
            Err(problem) => problem.reply(),
        };
        http::secured(reply)
    }

    async fn try_serve(self: &Arc<Self>, request: Request<Incoming>) -> Result<Reply, Problem> {
        let (head, body) = request.into_parts();
        let words = head.uri.query().unwrap_or_default().to_owned();
        let (at, path) = match find(&head.method, head.uri.path()) {
            Match::Found(at, path) => (at, path.into_iter().map(http::decoded).collect::<Vec<_>>()),
            Match::WrongMethod => return Err(Problem::wrong_method()),
            Match::Nothing => return Err(Problem::not_found("address")),
        };
        let action = ROUTES[at].action;
        let cookie = self.guard.check(&head.headers, &words, action == Action::Page)?;
        let body = match ROUTES[at].body {
            Some(_) => {
                let length = text_of(&head.headers, header::CONTENT_LENGTH).and_then(|n| n.parse().ok());
                self.received(body, length).await?
            }
            None if body.size_hint().exact() == Some(0) => Bytes::new(),
            None => return Err(Problem::bad_request("this address takes no body")),
        };
        let mut reply = if action == Action::Events {
            let last = text_of(&head.headers, HeaderName::from_static("last-event-id"));
            let first = last.and_then(|id| id.parse::<u64>().ok()).map_or(0, |id| id.saturating_add(1));
            self.app.events(&path[0], first)?
        } else {
            self.answered(Question { action, path, query: query(&words), body }).await?
        };
        if let Some(value) = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok()) {
            reply.headers_mut().insert(header::SET_COOKIE, value);
        }
        Ok(reply)
    }

    /// A body, if it says how long it is, that is not too long, there is room, and it arrives in time.
    async fn received(&self, body: Incoming, length: Option<usize>) -> Result<Bytes, Problem> {
        let length = length.ok_or_else(Problem::no_length)?;
        let most = self.app.config.max_body;
        if length > most {
            let detail = format!("the body has {length} bytes, but {most} are the most");
            return Err(Problem::too_large(detail));
        }
        let room = (length >> 10) as u32 + 1;
        let _permit = self
            .body_room
            .try_acquire_many(room)
            .map_err(|_| Problem::busy("other images are being received"))?;
        let collected = timeout(BODY_TIME, body.collect()).await.map_err(|_| Problem::timeout())?;
        let whole = collected.map_err(|_| Problem::bad_request("the body did not arrive whole"))?;
        Ok(whole.to_bytes())
    }

    /// Answers on a thread that may compute, when its turn comes.
    async fn answered(self: &Arc<Self>, question: Question) -> Result<Reply, Problem> {
        let place = Place::take(&self.n_patient).ok_or_else(|| Problem::busy("too many requests at once"))?;
        let turn = self.busy.acquire().await;
        let app = Arc::clone(&self.app);
        let work = tokio::task::spawn_blocking(move || app.answer(&question));
        let done = timeout(ANSWER_TIME, work).await;
        drop((turn, place));
        match done {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Problem::internal("this request broke; please report it")),
            Err(_) => Err(Problem::busy("this took too long")),
        }
    }
}
