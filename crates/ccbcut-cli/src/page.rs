//! Pages for people: templates with names to fill in.

/// The template with `{{name}}` replaced, in one pass: what is filled in is never looked at again.
pub fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let Some((name, behind)) = after.split_once("}}") else { break };
        if let Some((_, value)) = values.iter().find(|(key, _)| *key == name) {
            page.push_str(value);
        }
        rest = behind;
    }
    page.push_str(rest);
    page
}

/// Text as HTML and XML, inside attributes too.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_template_is_filled_once() {
        assert_eq!(filled("a {{x}} b {{y}} c", &[("x", "{{y}}".into()), ("y", "2".into())]), "a {{y}} b 2 c");
    }

    #[test]
    fn marks_of_the_language_become_text() {
        assert_eq!(escape("a < b & \"c\" > d"), "a &lt; b &amp; &quot;c&quot; &gt; d");
    }
}
