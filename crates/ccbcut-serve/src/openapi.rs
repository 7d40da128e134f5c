//! The description of the API, made from the table of addresses.

use serde_json::{Map, Value, json};

use crate::{export::FILES, routes::ROUTES, strokes};

/// The document, after OpenAPI 3.1.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in &ROUTES {
        let words = route.path.split('/').filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'));
        let parameter = |name: &str, place: &str, required: bool| {
            let schema = match (name, route.path.contains("/export/")) {
                ("file", true) => json!({ "enum": FILES.map(|(file, _)| file) }),
                ("k" | "step", _) => json!({ "type": "integer", "minimum": 0 }),
                ("alpha" | "knob" | "tau", _) => json!({ "type": "number" }),
                ("family", _) => json!({ "enum": ["ccn", "ccr", "bhn", "bhr"] }),
                ("edits", _) => json!({ "type": "string", "pattern": "^((s\\d+|m\\d+(-\\d+)+)\\.?)*$" }),
                _ => json!({ "type": "string" }),
            };
            json!({ "name": name, "in": place, "required": required, "schema": schema })
        };
        let mut parameters: Vec<Value> = words.map(|name| parameter(name, "path", true)).collect();
        parameters.extend(route.query.iter().map(|name| parameter(name, "query", false)));
        let mut operation = json!({
            "summary": route.summary,
            "operationId": format!("{:?}", route.action),
            "parameters": parameters,
            "responses": {
                "2XX": { "description": "Done", "content": { route.returns: {} } },
                "default": {
                    "description": "A problem (RFC 9457); 429 has a Retry-After",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
                },
            },
        });
        if let Some(kind) = route.body {
            let schema = if kind == "application/json" {
                json!({ "$ref": "#/components/schemas/Order" })
            } else {
                json!({ "type": "string", "format": "binary" })
            };
            operation["requestBody"] = json!({ "required": true, "content": { kind: { "schema": schema } } });
        }
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        entry[route.method.to_ascii_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ccbcut serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Cuts images on this machine. Requests need a Host of this server; those of pages of other sites are refused.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas() },
    })
}

fn schemas() -> Value {
    let number = |low: f64, high: f64| json!({ "type": "number", "minimum": low, "maximum": high });
    json!({
        "Problem": {
            "type": "object",
            "required": ["title", "status", "detail"],
            "properties": {
                "title": { "type": "string" },
                "status": { "type": "integer" },
                "detail": { "type": "string" },
            },
        },
        "Settings": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "tau": number(0.0, 2.0),
                "balance": { "enum": ["normalized", "ratio"] },
                "affinity": { "type": "string" },
                "method": { "enum": ["hierarchical", "multiway"] },
                "sigma": number(0.0, 1000.0),
                "smooth": number(0.0, 20.0),
                "levels": { "type": "integer", "minimum": 0, "maximum": 8 },
                "strokes": {
                    "type": "string",
                    "maxLength": strokes::MAX_LENGTH,
                    "pattern": format!("^([1-{}](\\.\\d+-\\d+)+(_|$))*$", strokes::N_PENS),
                    "description": "Strokes as pen.column-row.column-row, underscores between: one pen, one part; two pens, two parts. For hierarchical cuts",
                },
            },
        },
        "Order": {
            "type": "object",
            "required": ["tab", "image", "k"],
            "additionalProperties": false,
            "properties": {
                "tab": { "type": "string", "description": "Names the browser tab; one job runs for each" },
                "image": { "type": "string" },
                "k": { "type": "integer", "minimum": 1, "maximum": crate::settings::MAX_PARTS },
                "leaves": { "type": "integer", "description": "Grow the tree to this many parts" },
                "settings": { "$ref": "#/components/schemas/Settings" },
                "want": { "enum": ["cut", "sweep", "embedding"] },
                "warm": { "type": "boolean", "description": "A quick answer that begins from another tau will do" },
                "edits": { "type": "string" },
                "taus": { "type": "array", "items": number(0.0, 2.0), "maxItems": 24 },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described_and_every_description_is_a_route() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let described: usize = paths.values().map(|entry| entry.as_object().unwrap().len()).sum();
        assert_eq!(described, ROUTES.len());
        for route in &ROUTES {
            let operation = &paths[route.path][route.method.to_ascii_lowercase()];
            assert_eq!(operation["summary"], route.summary);
            let n_words = route.path.matches('{').count() + route.query.len();
            assert_eq!(operation["parameters"].as_array().unwrap().len(), n_words, "{}", route.path);
            assert_eq!(operation.get("requestBody").is_some(), route.body.is_some());
        }
        // References lead somewhere.
        let text = document.to_string();
        for rest in text.split("#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(document["components"]["schemas"][name].is_object(), "{name}");
        }
    }
}
