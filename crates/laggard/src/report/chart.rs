//! Plots as inline SVG: lines over time, cumulative distributions, heat maps. Pure functions from numbers to markup.

use laggard_store::time;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Size of a plot and the room for its axes.
pub const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 28.0;

/// Time to horizontal position. Hours in which nobody was recorded take no room, only a dashed line.
pub struct TimeAxis {
    /// From, to (seconds), and where they are drawn.
    segments: Vec<(i64, i64, f64, f64)>,
}

impl TimeAxis {
    /// An axis for sorted, distinct moments; steps longer than `gap_s` are gaps.
    pub fn new(moments: &[i64], gap_s: i64) -> TimeAxis {
        let runs: Vec<(i64, i64)> = moments
            .chunk_by(|a, b| b - a <= gap_s)
            .filter_map(|run| Some((*run.first()?, (*run.last()?).max(*run.first()? + 1))))
            .collect();
        let total: i64 = runs.iter().map(|(from, to)| to - from).sum();
        let room = WIDTH - LEFT - RIGHT;
        let mut at = LEFT;
        let mut segments = Vec::new();
        for (from, to) in runs {
            let width = room * (to - from) as f64 / total.max(1) as f64;
            segments.push((from, to, at, at + width));
            at += width;
        }
        TimeAxis { segments }
    }

    /// Where a moment is drawn; moments inside a gap go to its edge.
    pub fn x(&self, time_s: i64) -> f64 {
        for &(from, to, left, right) in &self.segments {
            if time_s <= to {
                let share = (time_s - from).max(0) as f64 / (to - from) as f64;
                return left + (right - left) * share;
            }
        }
        WIDTH - RIGHT
    }

    fn draw(&self) -> Markup {
        let bottom = HEIGHT - BOTTOM;
        let mut ticks: Vec<(f64, String)> = Vec::new();
        let total: i64 = self.segments.iter().map(|(from, to, ..)| to - from).sum();
        let steps = [
            10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000,
        ];
        let step = steps.into_iter().find(|step| total / step <= 9).unwrap_or(2_592_000);
        let whole_days = self.segments.len() > 1 || step >= 86_400;
        for &(from, to, ..) in &self.segments {
            let first = from.div_euclid(step) * step + if from.rem_euclid(step) == 0 { 0 } else { step };
            let moments = if whole_days && self.segments.len() > 1 {
                vec![from]
            } else {
                (first..=to).step_by(step as usize).collect()
            };
            for moment in moments {
                let x = self.x(moment);
                let text = time::format(moment);
                let label = if whole_days {
                    text[5..10].to_string()
                } else {
                    text[11..16 + usize::from(step < 60) * 3].to_string()
                };
                if ticks.last().is_none_or(|(last, _)| x - last > 60.0) {
                    ticks.push((x, label));
                }
            }
        }
        html! {
            g.axis {
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
                @for (x, label) in &ticks {
                    line x1=(px(*x)) x2=(px(*x)) y1=(bottom) y2=(bottom + 4.0) {}
                    text x=(px(*x)) y=(bottom + 17.0) text-anchor="middle" { (label) }
                }
                @for (_, _, left, _) in self.segments.iter().skip(1) {
                    line.gap x1=(px(*left)) x2=(px(*left)) y1=(TOP) y2=(bottom) {}
                }
            }
        }
    }
}

/// Value to vertical position.
struct ValueAxis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl ValueAxis {
    fn new(mut values: Vec<f64>, logarithmic: bool) -> ValueAxis {
        values.retain(|value| value.is_finite() && (!logarithmic || *value > 0.0));
        values.sort_by(f64::total_cmp);
        let high = values.last().copied().unwrap_or(1.0);
        let low = if logarithmic { values.first().copied().unwrap_or(1.0).min(high / 10.0) } else { 0.0 };
        ValueAxis { low, high: if high > low { high * 1.05 } else { low + 1.0 }, logarithmic }
    }

    fn y(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = self.low.log10().ceil() as i32..=self.high.log10().floor() as i32;
            return decades.map(|power| 10f64.powi(power)).collect();
        }
        let rough = (self.high - self.low) / 4.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * magnitude)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        (0..).map(|index| f64::from(index) * step).take_while(|value| *value <= self.high).collect()
    }

    fn draw(&self, unit: &str) -> Markup {
        html! {
            g.axis {
                @for value in self.ticks() {
                    line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(px(self.y(value))) y2=(px(self.y(value))) {}
                    text x=(LEFT - 6.0) y=(px(self.y(value) + 4.0)) text-anchor="end" { (short(value)) }
                }
                text x=(LEFT + 6.0) y=(TOP + 10.0) { (unit) }
            }
        }
    }
}

/// One line of a plot.
pub struct Line {
    /// Whose it is.
    pub name: String,
    /// Seconds and values, in time order.
    pub points: Vec<(i64, f64)>,
    /// CSS class: `suspect`, `median` or `peer`.
    pub class: &'static str,
}

/// Lines superimposed over time, the last on top; `shaded` is the anomalous time.
pub fn lines(
    lines: &[Line],
    axis: &TimeAxis,
    shaded: Option<(i64, i64)>,
    unit: &str,
    logarithmic: bool,
) -> Markup {
    let thin: Vec<(&Line, Vec<(f64, f64)>)> = lines.iter().map(|line| (line, columns(line, axis))).collect();
    let values = ValueAxis::new(scale_of(&thin), logarithmic);
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            @if let Some((from, to)) = shaded.map(|(from, to)| (axis.x(from), axis.x(to))) {
                rect.anomalous x=(px(from)) y=(TOP) width=(px((to - from).max(1.0))) height=(HEIGHT - TOP - BOTTOM) {}
            }
            (values.draw(unit))
            (axis.draw())
            @for (line, points) in &thin {
                path class=(line.class) d=(path(points, &values)) data-name=(line.name) { title { (line.name) } }
            }
        }
    }
}

/// Values that the axis must hold: all of the suspect's, and nearly all of the peers', whose rare spikes may be cut.
fn scale_of(lines: &[(&Line, Vec<(f64, f64)>)]) -> Vec<f64> {
    let values = |points: &[(f64, f64)]| {
        points.iter().map(|(_, value)| *value).filter(|value| !value.is_nan()).collect()
    };
    let (peers, others): (Vec<_>, Vec<_>) = lines.iter().partition(|(line, _)| line.class == "peer");
    let mut scale: Vec<f64> = peers.iter().flat_map(|(_, points)| -> Vec<f64> { values(points) }).collect();
    scale.sort_by(f64::total_cmp);
    scale.truncate(scale.len() * 998 / 1000 + 1);
    scale.extend(others.iter().flat_map(|(_, points)| -> Vec<f64> { values(points) }));
    scale
}

/// Averages a line into pixel columns; a hole of more than a few pixels lifts the pen (NaN).
fn columns(line: &Line, axis: &TimeAxis) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    let step = line.points.windows(2).map(|pair| pair[1].0 - pair[0].0).min().unwrap_or(1).max(1);
    let mut last_time = None;
    for run in line.points.chunk_by(|a, b| axis.x(a.0).floor() == axis.x(b.0).floor()) {
        let mean = run.iter().map(|(_, value)| value).sum::<f64>() / run.len() as f64;
        let x = axis.x(run[0].0);
        if last_time.is_some_and(|last| run[0].0 - last > 20 * step) {
            out.push((x, f64::NAN));
        }
        last_time = run.last().map(|(time, _)| *time);
        out.push((x, mean));
    }
    out
}

fn path(points: &[(f64, f64)], values: &ValueAxis) -> String {
    let mut d = String::new();
    let mut pen_down = false;
    for &(x, value) in points {
        if value.is_nan() {
            pen_down = false;
            continue;
        }
        let _ = write!(d, "{}{:.1} {:.1}", if pen_down { "L" } else { "M" }, x, values.y(value));
        pen_down = true;
    }
    d
}

/// Cumulative distributions: the suspect against its peers.
pub fn distributions(lines: &[(String, &'static str, Vec<f64>)], unit: &str) -> Markup {
    let mut all: Vec<f64> = lines.iter().flat_map(|(_, _, values)| values.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    let (low, high) = (all.first().copied().unwrap_or(0.0), all.last().copied().unwrap_or(1.0));
    let width = if high > low { high - low } else { 1.0 };
    let x = |value: f64| LEFT + (value - low) / width * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM);
    let steps = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut d = format!("M{:.1} {:.1}", x(sorted.first().copied().unwrap_or(low)), y(0.0));
        for (index, value) in sorted.iter().enumerate() {
            let _ = write!(d, "H{:.1}V{:.1}", x(*value), y((index + 1) as f64 / sorted.len() as f64));
        }
        let _ = write!(d, "H{:.1}", WIDTH - RIGHT);
        d
    };
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            g.axis {
                @for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
                    line.grid x1=(LEFT) x2=(WIDTH - RIGHT) y1=(px(y(share))) y2=(px(y(share))) {}
                    text x=(LEFT - 6.0) y=(px(y(share) + 4.0)) text-anchor="end" { (format!("{}%", share * 100.0)) }
                }
                @for index in 0..=6 {
                    @let value = low + width * f64::from(index) / 6.0;
                    text x=(px(x(value))) y=(HEIGHT - BOTTOM + 17.0) text-anchor=(if index == 6 { "end" } else { "middle" }) { (short(value)) @if index == 6 { " " (unit) } }
                }
            }
            @for (name, class, values) in lines {
                @if !values.is_empty() {
                    path class=(class) d=(steps(values)) { title { (name) } }
                }
            }
        }
    }
}

/// The least ratio that is seen after so many seconds, in steps: what lies above is seen. Both axes are logarithmic.
pub fn steps(points: &[(f64, f64)], label: impl Fn(f64) -> String) -> Markup {
    let values = ValueAxis::new(points.iter().map(|(_, ratio)| *ratio).chain([1.0]).collect(), true);
    let first = points.first().map_or(1.0, |(seconds, _)| *seconds);
    let last = points.last().map_or(first, |(seconds, _)| *seconds).max(2.0 * first) * 2.0;
    let x = |seconds: f64| LEFT + (seconds / first).ln() / (last / first).ln() * (WIDTH - LEFT - RIGHT);
    let mut d = format!("M{:.1} {TOP:.1}", x(first));
    for (seconds, ratio) in points {
        let _ = write!(d, "H{:.1}V{:.1}", x(*seconds), values.y(*ratio));
    }
    let _ = write!(d, "H{:.1}", WIDTH - RIGHT);
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            (values.draw("times its peers'"))
            g.axis {
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(HEIGHT - BOTTOM) y2=(HEIGHT - BOTTOM) {}
                @for (seconds, _) in points {
                    text x=(px(x(*seconds))) y=(HEIGHT - BOTTOM + 17.0) text-anchor="middle" { (label(*seconds)) }
                }
            }
            path.suspect d=(d) {}
        }
    }
}

/// Bars side by side for each label: the CSS class of each bar's kind, its name, and its values.
pub fn bars(labels: &[String], kinds: &[(&'static str, &str, Vec<f64>)], unit: &str) -> Markup {
    let values =
        ValueAxis::new(kinds.iter().flat_map(|(_, _, values)| values.iter().copied()).collect(), false);
    let group = (WIDTH - LEFT - RIGHT) / labels.len().max(1) as f64;
    let width = group * 0.9 / kinds.len().max(1) as f64;
    let bottom = HEIGHT - BOTTOM;
    // Labels need room.
    let every = labels.len().div_ceil(20).max(1);
    html! {
        svg.plot viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            (values.draw(unit))
            g.axis {
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(bottom) y2=(bottom) {}
                @for (index, label) in labels.iter().enumerate().step_by(every) {
                    text x=(px(LEFT + group * (index as f64 + 0.5))) y=(bottom + 17.0) text-anchor="middle" { (label) }
                }
            }
            @for (kind, (class, name, heights)) in kinds.iter().enumerate() {
                @for (index, value) in heights.iter().enumerate().filter(|(_, value)| **value > 0.0) {
                    @let left = LEFT + group * index as f64 + group * 0.05 + width * kind as f64;
                    // What is there must be seen, however little it is.
                    @let top = values.y(*value).min(bottom - 1.0);
                    rect class={ "bar " (class) } x=(px(left)) y=(px(top)) width=(px(width)) height=(px(bottom - top)) {
                        title { (labels[index]) ": " (name) " " (short(*value)) " " (unit) }
                    }
                }
            }
        }
    }
}

/// One cell of a heat map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// On the map's scale; NaN is not known.
    pub value: f64,
    /// Whether a bar is under it.
    pub marked: bool,
}

/// What a heat map's colours mean: upper bounds, each with its name. The last is what is not known.
pub type Scale = [(f64, &'static str); 7];

/// Components by time, in colours.
pub fn heat_map(rows: &[(String, Vec<Cell>)], columns: &[(i64, i64)], scale: &Scale) -> Markup {
    const ROW: f64 = 16.0;
    const NAMES: f64 = 150.0;
    let width = (WIDTH - NAMES - RIGHT) / columns.len().max(1) as f64;
    let height = ROW * rows.len() as f64 + 24.0;
    let x = |column: usize| NAMES + column as f64 * width;
    html! {
        svg.plot.heat viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            @for (index, (name, cells)) in rows.iter().enumerate() {
                @let top = ROW * index as f64;
                text x=(NAMES - 6.0) y=(px(top + 12.0)) text-anchor="end" { (name) }
                @for (from, to, level, marked) in runs(cells, scale) {
                    rect class=(format!("h{level}")) x=(px(x(from))) y=(px(top + 1.0)) width=(px(x(to) - x(from))) height=(ROW - 2.0) {
                        title { (name) ": " (time::format(columns[from].0)) " to " (time::format(columns[to - 1].1)) ", " (scale[level].1) }
                    }
                    @if marked {
                        rect.filtered x=(px(x(from))) y=(px(top + ROW - 4.0)) width=(px(x(to) - x(from))) height="3" {}
                    }
                }
            }
            @for index in 0..=4 {
                @let column = (columns.len().saturating_sub(1)) * index / 4;
                @if let Some((from, _)) = columns.get(column) {
                    @let anchor = if index == 0 { "start" } else if index == 4 { "end" } else { "middle" };
                    text x=(px(x(column))) y=(px(height - 6.0)) text-anchor=(anchor) { (&time::format(*from)[5..16]) }
                }
            }
        }
    }
}

/// Scores over thresholds.
pub const SCORES: Scale = [
    (0.5, "below half of the threshold"),
    (1.0, "below the threshold"),
    (2.0, "up to 2 times the threshold"),
    (5.0, "up to 5 times the threshold"),
    (20.0, "up to 20 times the threshold"),
    (f64::INFINITY, "more than 20 times the threshold"),
    (f64::NAN, "undecided"),
];

fn level(value: f64, scale: &Scale) -> usize {
    if value.is_nan() { 6 } else { scale.iter().position(|(bound, _)| value <= *bound).unwrap_or(5) }
}

/// Neighbouring cells of one colour become one rectangle.
fn runs(cells: &[Cell], scale: &Scale) -> Vec<(usize, usize, usize, bool)> {
    let mut runs: Vec<(usize, usize, usize, bool)> = Vec::new();
    for (column, cell) in cells.iter().enumerate() {
        let now = (level(cell.value, scale), cell.marked);
        match runs.last_mut() {
            Some((_, to, level, marked)) if (*level, *marked) == now => *to = column + 1,
            _ => runs.push((column, column + 1, now.0, now.1)),
        }
    }
    runs
}

/// The colours of a heat map, explained, and what a bar under a cell means.
pub fn heat_legend(scale: &Scale, mark: Option<&str>) -> Markup {
    html! {
        p.legend {
            @for (index, (_, name)) in scale.iter().enumerate() {
                svg width="14" height="12" { rect class=(format!("h{index}")) width="12" height="12" {} }
                (name) " " (PreEscaped("&ensp;"))
            }
            @if let Some(mark) = mark {
                svg width="14" height="12" { rect.filtered y="8" width="12" height="3" {} }
                (mark)
            }
        }
    }
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e9 => format!("{:.1}G", value / 1e9),
        size if size >= 1e6 => format!("{:.1}M", value / 1e6),
        size if size >= 1e4 => format!("{:.0}k", value / 1e3),
        size if size >= 10.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 1.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_take_no_room_on_the_time_axis() {
        let moments: Vec<i64> = (0..100).chain(100_000..100_100).collect();
        let axis = TimeAxis::new(&moments, 20);
        assert!((axis.x(99) - axis.x(100_000)).abs() < 1e-9);
        assert!((axis.x(99) - (LEFT + (WIDTH - LEFT - RIGHT) / 2.0)).abs() < 1e-9);
        assert_eq!(axis.x(50_000), axis.x(100_000));
    }

    #[test]
    fn equal_neighbours_become_one_rectangle() {
        let cell = |value| Cell { value, marked: false };
        let found = runs(&[cell(0.1), cell(0.2), cell(3.0), cell(f64::NAN)], &SCORES);
        assert_eq!(found, [(0, 2, 0, false), (2, 3, 3, false), (3, 4, 6, false)]);
    }
}
