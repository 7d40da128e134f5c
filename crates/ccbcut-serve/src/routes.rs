//! The addresses: one table, from which requests are answered and the API is described.

use hyper::Method;

/// What an address does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Page,
    Asset,
    Describe,
    Status,
    ListImages,
    AddImage,
    ShowImage,
    ShowPicture,
    AddJob,
    Events,
    CancelJob,
    ShowTree,
    ShowView,
    ShowLabels,
    Export,
    ShowEmbedding,
    ShowSweep,
    ShowStep,
    ToyPoint,
    ToyMap,
}

/// An address, and all that is said about it.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// GET, POST or DELETE.
    pub method: &'static str,
    /// The path; words in braces stand for anything without a slash.
    pub path: &'static str,
    /// What it does.
    pub action: Action,
    /// What it does, for people.
    pub summary: &'static str,
    /// Words of the query.
    pub query: &'static [&'static str],
    /// The kind of the body it takes.
    pub body: Option<&'static str>,
    /// The kind of what comes back.
    pub returns: &'static str,
}

const JSON: &str = "application/json";
const PNG: &str = "image/png";
const BYTES: &str = "application/octet-stream";
const PARTS: &[&str] = &["k", "edits"];

const fn get(path: &'static str, action: Action, summary: &'static str, returns: &'static str) -> Route {
    Route { method: "GET", path, action, summary, query: &[], body: None, returns }
}

const fn with(route: Route, query: &'static [&'static str]) -> Route {
    Route { query, ..route }
}

const fn post(path: &'static str, action: Action, summary: &'static str, body: &'static str) -> Route {
    Route { method: "POST", path, action, summary, query: &[], body: Some(body), returns: JSON }
}

/// All addresses.
pub const ROUTES: [Route; 20] = [
    get("/", Action::Page, "The page", "text/html"),
    get("/page/{file}", Action::Asset, "A file of the page", "text/plain"),
    get("/api/openapi.json", Action::Describe, "This description", JSON),
    get("/api/status", Action::Status, "Version, limits, and what is held", JSON),
    get("/api/images", Action::ListImages, "The images that the command was given", JSON),
    with(post("/api/images", Action::AddImage, "Adds an image: the bytes of its file", BYTES), &["name"]),
    get("/api/images/{image}", Action::ShowImage, "Name and size of an image", JSON),
    get("/api/images/{image}/picture", Action::ShowPicture, "The pixels that are cut", PNG),
    post(
        "/api/jobs",
        Action::AddJob,
        "Starts a cut, a sweep or an embedding; the tab's last job is cancelled",
        JSON,
    ),
    get(
        "/api/jobs/{job}/events",
        Action::Events,
        "Stages, splits and sweeps as they happen",
        "text/event-stream",
    ),
    Route {
        method: "DELETE",
        path: "/api/jobs/{job}",
        action: Action::CancelJob,
        summary: "Cancels a job",
        query: &[],
        body: None,
        returns: JSON,
    },
    get("/api/cuts/{cut}/tree", Action::ShowTree, "Nodes [parent, children, step, share] and costs", JSON),
    with(
        get(
            "/api/cuts/{cut}/view",
            Action::ShowView,
            "Sizes, nodes, commands; costs at tau, or that of the cut",
            JSON,
        ),
        &["k", "edits", "tau"],
    ),
    with(
        get(
            "/api/cuts/{cut}/labels",
            Action::ShowLabels,
            "16-bit labels, low byte first, 65535 for none",
            BYTES,
        ),
        PARTS,
    ),
    with(
        get("/api/cuts/{cut}/export/{file}", Action::Export, "A file as the command writes it", BYTES),
        PARTS,
    ),
    with(
        get("/api/cuts/{cut}/embedding", Action::ShowEmbedding, "Three coordinates as colours", PNG),
        &["k"],
    ),
    get("/api/sweeps/{sweep}", Action::ShowSweep, "Parts and events at every tau", JSON),
    get("/api/sweeps/{sweep}/pictures/{step}", Action::ShowStep, "Mean colours at one tau", PNG),
    with(
        get("/api/toy", Action::ToyPoint, "The cheapest cut of the toy graph", JSON),
        &["family", "alpha", "knob"],
    ),
    with(get("/api/toy/map", Action::ToyMap, "Which kind of cut wins where", JSON), &["family"]),
];

/// What an address leads to.
#[derive(Debug, PartialEq, Eq)]
pub enum Match<'p> {
    /// The route, and what stands for its words in braces.
    Found(usize, Vec<&'p str>),
    /// There are others for this path.
    WrongMethod,
    /// Nothing.
    Nothing,
}

/// Looks an address up.
pub fn find<'p>(method: &Method, path: &'p str) -> Match<'p> {
    let mut answer = Match::Nothing;
    for (at, route) in ROUTES.iter().enumerate() {
        if let Some(words) = matched(route.path, path) {
            if route.method == method.as_str() {
                return Match::Found(at, words);
            }
            answer = Match::WrongMethod;
        }
    }
    answer
}

fn matched<'p>(template: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (mut pieces, mut words) = (path.split('/'), Vec::new());
    for expected in template.split('/') {
        let piece = pieces.next()?;
        if expected.starts_with('{') {
            if piece.is_empty() {
                return None;
            }
            words.push(piece);
        } else if piece != expected {
            return None;
        }
    }
    pieces.next().is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_where_the_table_says() {
        let action = |method: &Method, path: &'static str| match find(method, path) {
            Match::Found(at, words) => Some((ROUTES[at].action, words)),
            _ => None,
        };
        assert_eq!(action(&Method::GET, "/"), Some((Action::Page, vec![])));
        assert_eq!(action(&Method::GET, "/page/main.js"), Some((Action::Asset, vec!["main.js"])));
        let export = action(&Method::GET, "/api/cuts/ab/export/labels.png");
        assert_eq!(export, Some((Action::Export, vec!["ab", "labels.png"])));
        assert_eq!(action(&Method::POST, "/api/images").unwrap().0, Action::AddImage);
        assert_eq!(find(&Method::PUT, "/api/images"), Match::WrongMethod);
        for path in ["/page/", "/page/a/b", "/api", "/api/cuts/x/export/a/b", "//", "", "/etc/passwd"] {
            assert_eq!(find(&Method::GET, path), Match::Nothing, "{path}");
        }
    }

    #[test]
    fn no_two_routes_are_the_same() {
        for (at, route) in ROUTES.iter().enumerate() {
            assert_eq!(
                find(&route.method.parse().unwrap(), route.path),
                Match::Found(at, matched(route.path, route.path).unwrap())
            );
        }
    }
}
