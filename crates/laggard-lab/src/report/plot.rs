//! Small line charts as SVG, for the sensitivity study.

use maud::{Markup, html};

/// Colours that differ in lightness too.
pub const COLOURS: [&str; 4] = ["#0b6e4f", "#c8553d", "#2a6fdb", "#8f6bb3"];

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 40.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 12.0;
const RIGHT: f64 = 12.0;

/// Lines over common positions; y in percent. The paper's own choice is marked.
pub fn lines(x: &[f64], chosen: f64, series: &[(&str, Vec<f64>)]) -> Markup {
    let (low, high) = x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let range = if high > low { high - low } else { 1.0 };
    let px = |value: f64| LEFT + (value - low) / range * (WIDTH - LEFT - RIGHT);
    let py = |percent: f64| TOP + (1.0 - percent / 100.0) * (HEIGHT - TOP - BOTTOM);
    let points = |values: &[f64]| {
        let pairs: Vec<String> =
            x.iter().zip(values).map(|(x, y)| format!("{:.1},{:.1}", px(*x), py(*y))).collect();
        pairs.join(" ")
    };
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            @for percent in [0.0, 25.0, 50.0, 75.0, 100.0] {
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(py(percent)) y2=(py(percent)) class="grid" {}
                text x=(LEFT - 6.0) y=(py(percent) + 4.0) class="y" { (percent) }
            }
            line x1=(px(chosen)) x2=(px(chosen)) y1=(TOP) y2=(HEIGHT - BOTTOM) class="chosen" {}
            @for value in x {
                text x=(px(*value)) y=(HEIGHT - BOTTOM + 16.0) class="x" { (value) }
            }
            @for ((name, values), colour) in series.iter().zip(COLOURS) {
                polyline points=(points(values)) stroke=(colour) fill="none" stroke-width="2" { title { (name) } }
                @for (x, y) in x.iter().zip(values) {
                    circle cx=(format!("{:.1}", px(*x))) cy=(format!("{:.1}", py(*y))) r="3" fill=(colour) {
                        title { (format!("{name} {y:.1} % at {x}")) }
                    }
                }
            }
        }
    }
}

/// What the colours mean.
pub fn legend(names: &[&str]) -> Markup {
    html! {
        p.legend {
            @for (name, colour) in names.iter().zip(COLOURS) {
                span { span.swatch style=(format!("background:{colour}")) {} (name) }
            }
        }
    }
}
