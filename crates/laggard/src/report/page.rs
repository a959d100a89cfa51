//! The shell of every page: self-contained, with style and script inside.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A self-contained page.
pub fn page(headline: &str, main: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Laggard: " (headline) }
                style { (PreEscaped(include_str!("page/style.css"))) }
            }
            body {
                header { h1 { "Laggard" } p.headline { (headline) } }
                main { (main) }
                script { (PreEscaped(include_str!("page/script.js"))) }
            }
        }
    };
    page.into_string()
}
