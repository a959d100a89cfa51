//! The shell of every HTML page, of the operator's binary and of the laboratory: self-contained, nothing is fetched.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A page with its style inside.
pub fn page(title: &str, style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}
