//! The frame of every page: heading, content, script.

use maud::{Markup, PreEscaped, html};

/// A self-contained page.
pub fn page(headline: &str, main: &Markup) -> String {
    let body = html! {
        header { h1 { "Laggard" } p.headline { (headline) } }
        main { (main) }
        script { (PreEscaped(include_str!("page/script.js"))) }
    };
    laggard_engine::page::page(&format!("Laggard: {headline}"), include_str!("page/style.css"), &body)
}
