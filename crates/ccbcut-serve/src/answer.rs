//! What each address answers.

use std::{collections::HashMap, sync::Arc};

use ccbcut::LabelMap;
use ccbcut_io::paint;
use hyper::{
    StatusCode,
    body::Bytes,
    header::{CONTENT_DISPOSITION, HeaderValue},
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    App,
    cut::{Cut, Order},
    export::FILES,
    http::{self, Reply},
    jobs::Job,
    openapi, page,
    problem::Problem,
    routes::Action,
    settings::{Edit, MAX_PARTS, Settings, edits},
    strokes::{self, Marks},
    toy::{self, Family},
};

/// A request, taken apart.
#[derive(Debug)]
pub struct Question {
    /// What it asks.
    pub action: Action,
    /// The words of its path.
    pub path: Vec<String>,
    /// The words of its query.
    pub query: HashMap<String, String>,
    /// Its body.
    pub body: Bytes,
}

impl Question {
    fn word(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T, Problem> {
        let text = self.word(name);
        text.parse().map_err(|_| Problem::bad_request(format!("{name} is `{text}`, but it must be a number")))
    }
}

/// The body of a new job.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobBody {
    tab: String,
    image: String,
    k: usize,
    #[serde(default)]
    leaves: usize,
    #[serde(default)]
    settings: Settings,
    #[serde(default)]
    want: Want,
    #[serde(default)]
    warm: bool,
    #[serde(default)]
    edits: String,
    #[serde(default)]
    taus: Vec<f64>,
}

/// What a job makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Want {
    #[default]
    Cut,
    Sweep,
    Embedding,
}

impl App {
    /// Answers a question; it may take a while, so not on the thread that talks to browsers.
    ///
    /// # Errors
    /// The refusal.
    pub fn answer(self: &Arc<Self>, question: &Question) -> Result<Reply, Problem> {
        let ok = StatusCode::OK;
        let path = |at: usize| question.path.get(at).map_or("", String::as_str);
        match question.action {
            Action::Page => asset("index.html"),
            Action::Asset => asset(path(0)),
            Action::Describe => Ok(http::json(ok, &openapi::document())),
            Action::Status => Ok(self.status()),
            Action::ListImages => {
                let list: Vec<_> = self
                    .images
                    .list()
                    .into_iter()
                    .map(|[id, name]| json!({ "id": id, "name": name }))
                    .collect();
                Ok(http::json(ok, &list))
            }
            Action::AddImage => {
                let picture = self.images.add(question.word("name"), &question.body)?;
                Ok(http::json(StatusCode::CREATED, &picture.info()))
            }
            Action::ShowImage => Ok(http::json(ok, &self.images.get(path(0))?.info())),
            Action::ShowPicture => {
                let picture = self.images.get(path(0))?;
                let (width, height) = (picture.image.width(), picture.image.height());
                let png = paint::encode_png(width, height, &picture.rgb);
                png.map(|png| http::reply(ok, "image/png", png)).map_err(|e| Problem::internal(e.to_string()))
            }
            Action::AddJob => self.add_job(&question.body),
            Action::Events => Err(Problem::internal("events are streamed")),
            Action::CancelJob => {
                let job = self.jobs.get(path(0)).ok_or_else(|| Problem::not_found("job"))?;
                job.cancel();
                Ok(http::json(ok, &json!({ "job": job.id })))
            }
            Action::ShowTree => Ok(http::json(ok, &self.cut_named(path(0))?.tree_json())),
            Action::ShowView | Action::ShowLabels | Action::Export => self.show(question),
            Action::ShowEmbedding => {
                let name = format!("{}/{}", path(0), question.number::<usize>("k")?);
                let png = self.pictures.get(&name).ok_or_else(|| Problem::not_found("embedding"))?;
                Ok(http::reply(ok, "image/png", Vec::clone(&png)))
            }
            Action::ShowSweep => {
                let sweep = self.sweeps.get(path(0)).ok_or_else(|| Problem::not_found("sweep"))?;
                Ok(http::json(ok, &sweep.json()))
            }
            Action::ShowStep => {
                let sweep = self.sweeps.get(path(0)).ok_or_else(|| Problem::not_found("sweep"))?;
                let step = path(1).parse().map_err(|_| Problem::not_found("step"))?;
                Ok(http::reply(ok, "image/png", sweep.picture(step)?))
            }
            Action::ToyPoint => {
                let family = Family::named(question.word("family"))?;
                let point = toy::winner(family, question.number("alpha")?, question.number("knob")?)?;
                Ok(http::json(ok, &point))
            }
            Action::ToyMap => Ok(http::json(ok, toy::map(Family::named(question.word("family"))?)?)),
        }
    }

    fn status(&self) -> Reply {
        let size = |(things, bytes): (usize, usize)| json!({ "things": things, "bytes": bytes });
        let config = &self.config;
        let status = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "max_body": config.max_body,
            "max_pixels": config.max_pixels,
            "work_pixels": config.work_pixels,
            "max_parts": MAX_PARTS,
            "waiting": self.jobs.n_waiting(),
            "kept": {
                "images": size(self.images.size()),
                "graphs": size(self.graphs.size()),
                "cuts": size(self.cuts.size()),
                "views": size(self.views.size()),
            },
        });
        http::json(StatusCode::OK, &status)
    }

    fn cut_named(&self, id: &str) -> Result<Arc<Cut>, Problem> {
        self.cuts.get(id).ok_or_else(|| Problem::not_found("cut"))
    }

    fn add_job(self: &Arc<Self>, body: &[u8]) -> Result<Reply, Problem> {
        let body: JobBody = serde_json::from_slice(body)
            .map_err(|error| Problem::bad_request(format!("the job cannot be read: {error}")))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if body.tab.is_empty() || body.tab.len() > 64 || !body.tab.chars().all(is_name) {
            return Err(Problem::bad_request("the tab must have a name of at most 64 letters and digits"));
        }
        if body.k == 0 || body.k > MAX_PARTS || body.leaves > MAX_PARTS {
            let k = body.k.max(body.leaves);
            return Err(Problem::unusable(format!("k is {k}, but it must be from 1 to {MAX_PARTS}")));
        }
        let edits = edits(&body.edits)?;
        let picture = self.images.get(&body.image)?;
        let settings = body.settings.checked()?;
        let marks = Marks::draw(&strokes::read(&settings.strokes)?, &picture)?.map(Arc::new);
        if let Some(marks) = &marks {
            if body.want == Want::Sweep {
                return Err(Problem::unusable(
                    "a sweep through tau does not keep to strokes: clear them first",
                ));
            }
            marks.check(body.k)?;
        }
        let order =
            Order { picture, settings, marks, k: body.k, leaves: body.leaves, may_be_warm: body.warm };
        let (app, want, taus) = (Arc::clone(self), body.want, body.taus);
        let work = move |job: &Job| match want {
            Want::Cut => {
                let prepared = app.prepared(&order, job)?;
                let work = (job, &*prepared);
                let cut = app.cut(&order, &prepared, job)?;
                app.view(&cut, order.k, &edits, Some(work))?.costs(&cut, Some(&prepared))?;
                app.unroll(&cut, &order, work)?;
                Ok(json!({
                    "cut": cut.id, "least": cut.least, "leaves": cut.n_leaves(), "is_warm": cut.is_warm,
                }))
            }
            Want::Sweep => Ok(json!({ "sweep": app.sweep(&order, &taus, job)? })),
            Want::Embedding => {
                app.embedding(&order, job)?;
                Ok(json!({ "embedding": App::embedding_name(&order) }))
            }
        };
        let job = self.jobs.add(&body.tab, Box::new(work))?;
        Ok(http::json(StatusCode::ACCEPTED, &json!({ "job": job.id })))
    }

    /// The parts of a cut: described, as labels, or as a file.
    fn show(&self, question: &Question) -> Result<Reply, Problem> {
        let cut = self.cut_named(&question.path[0])?;
        let k: usize = question.number("k")?;
        let edits: Vec<Edit> = edits(question.word("edits"))?;
        let view = self.view(&cut, k, &edits, None)?;
        match question.action {
            Action::ShowView => {
                let tau = if question.word("tau").is_empty() { None } else { Some(question.number("tau")?) };
                Ok(http::json(StatusCode::OK, &self.describe(&cut, &view, k, &edits, tau)?))
            }
            Action::ShowLabels => {
                let short = |&label: &u32| if label == LabelMap::VOID { u16::MAX } else { label as u16 };
                let bytes: Vec<u8> =
                    view.labels.as_slice().iter().flat_map(|l| short(l).to_le_bytes()).collect();
                Ok(http::reply(StatusCode::OK, "application/octet-stream", bytes))
            }
            _ => {
                let file = &question.path[1];
                let known = FILES.iter().find(|(name, _)| name == file);
                let (name, kind) = known.ok_or_else(|| Problem::not_found("file"))?;
                let bytes = self.export(&cut, &view, name, !edits.is_empty())?;
                let mut reply = http::reply(StatusCode::OK, kind, bytes);
                let disposition = format!("attachment; filename=\"{}-{name}\"", cut.picture.stem());
                if let Ok(value) = HeaderValue::from_str(&disposition) {
                    reply.headers_mut().insert(CONTENT_DISPOSITION, value);
                }
                Ok(reply)
            }
        }
    }

    /// The events of a job from a number on, as a reply that goes on until the job ends or the reader goes.
    ///
    /// # Errors
    /// When there is no such job.
    pub fn events(&self, id: &str, first: u64) -> Result<Reply, Problem> {
        let job = self.jobs.get(id).ok_or_else(|| Problem::not_found("job"))?;
        let (sender, receiver) = mpsc::channel(4);
        tokio::spawn(async move {
            let mut next = first;
            loop {
                let (text, after, is_last) = job.events_from(next);
                next = after;
                // A comment keeps the line open, and finds out whether anybody listens.
                let text = if text.is_empty() { ": still there\n\n".to_owned() } else { text };
                if sender.send(Bytes::from(text)).await.is_err() || is_last {
                    return;
                }
                job.wait_beyond(next).await;
            }
        });
        Ok(http::events(receiver))
    }
}

fn asset(name: &str) -> Result<Reply, Problem> {
    let (_, kind, text) = page::asset(name).ok_or_else(|| Problem::not_found("file"))?;
    Ok(http::reply(StatusCode::OK, kind, Bytes::from_static(text.as_bytes())))
}
