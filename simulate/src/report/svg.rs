//! Plots as inline SVG, drawn at a size at which they are shown nearly one to one on a phone.
//!
//! Colours and fonts come from the page's style sheet: `c0`, `c1` ... name the series.

use std::fmt::Write;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 34.0;
/// Height of one bar, with its label.
const BAR: f64 = 38.0;
/// Colours that the style sheet has.
pub(super) const COLOURS: usize = 8;

/// An axis: where its numbers begin and end, which are written, and how.
pub(super) struct Axis<'a> {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<f64>,
    pub(super) label: &'a str,
    pub(super) show: &'a dyn Fn(f64) -> String,
    /// Logarithmic; then `from` is above 0.
    pub(super) log: bool,
}

impl Axis<'_> {
    /// Where a number lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (from, to, value) =
            if self.log { (self.from.ln(), self.to.ln(), value.max(self.from).ln()) } else { (self.from, self.to, value) };
        ((value - from) / (to - from).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

fn x(share: f64) -> f64 {
    LEFT + share * (WIDTH - LEFT - RIGHT)
}

fn y(share: f64) -> f64 {
    HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
}

/// Lines through points, one for each series.
pub(super) fn lines(title: &str, across: &Axis<'_>, up: &Axis<'_>, series: &[Vec<(f64, f64)>]) -> String {
    let mut svg = open(title, HEIGHT);
    grid(&mut svg, across, up);
    for (number, points) in series.iter().enumerate() {
        let points: Vec<String> = points.iter().map(|(a, b)| format!("{:.1},{:.1}", x(across.place(*a)), y(up.place(*b)))).collect();
        let _ = write!(svg, r#"<polyline class="line c{} d{}" points="{}"/>"#, number % COLOURS, number % 4, points.join(" "));
    }
    svg + "</svg>"
}

fn grid(svg: &mut String, across: &Axis<'_>, up: &Axis<'_>) {
    for tick in &up.ticks {
        let at = y(up.place(*tick));
        let _ = write!(svg, r#"<line class="grid" x1="{LEFT}" x2="{:.1}" y1="{at:.1}" y2="{at:.1}"/>"#, WIDTH - RIGHT);
        let _ = write!(svg, r#"<text class="end" x="{:.1}" y="{:.1}">{}</text>"#, LEFT - 5.0, at + 4.0, (up.show)(*tick));
    }
    for tick in &across.ticks {
        let at = x(across.place(*tick));
        let anchor = if across.place(*tick) > 0.95 { "end" } else { "mid" };
        let _ = write!(svg, r#"<text class="{anchor}" x="{at:.1}" y="{:.1}">{}</text>"#, HEIGHT - BOTTOM + 14.0, (across.show)(*tick));
    }
    if across.label.is_empty() {
        return;
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let _ = write!(svg, r#"<text class="mid dim" x="{middle:.1}" y="{:.1}">{}</text>"#, HEIGHT - 4.0, across.label);
}

/// A bar: its name, what is written at its end, and its parts with their colours.
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) parts: Vec<(usize, f64)>,
}

/// Bars from the left, one below the other, each under its name. Names are text already escaped.
pub(super) fn bars(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.parts.iter().map(|part| part.1).sum::<f64>()).fold(0.0, f64::max);
    let mut svg = open(title, BAR * bars.len() as f64 + 4.0);
    for (number, bar) in bars.iter().enumerate() {
        let top = BAR * number as f64;
        let _ = write!(svg, r#"<text x="2" y="{:.1}">{}</text>"#, top + 13.0, bar.name);
        let _ = write!(svg, r#"<text class="end" x="{:.1}" y="{:.1}">{}</text>"#, WIDTH - 2.0, top + 13.0, bar.text);
        let _ = write!(svg, r#"<rect class="rail" x="2" y="{:.1}" width="{:.1}" height="14" rx="2"/>"#, top + 18.0, WIDTH - 4.0);
        let mut from = 2.0;
        for (colour, value) in &bar.parts {
            let width = if most > 0.0 { value / most * (WIDTH - 4.0) } else { 0.0 };
            let _ = write!(
                svg,
                r#"<rect class="fill c{}" x="{from:.1}" y="{:.1}" width="{width:.1}" height="14"/>"#,
                colour % COLOURS,
                top + 18.0
            );
            from += width;
        }
    }
    svg + "</svg>"
}

fn open(title: &str, height: f64) -> String {
    format!(r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>"#)
}

/// Numbers of one, two or five times a power of ten, about five between 0 and `most`.
pub(super) fn even_ticks(most: f64) -> Vec<f64> {
    let rough = (most / 4.0).max(1e-9);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(power * 10.0);
    (0..=5).map(|n| (n as f64 * step * 1e6).round() / 1e6).take_while(|tick| *tick <= most * 1.001).collect()
}

/// Powers of ten from `from` to `to`.
pub(super) fn log_ticks(from: f64, to: f64) -> Vec<f64> {
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    (first..=last).map(|power| 10_f64.powi(power)).filter(|tick| (from * 0.999..=to * 1.001).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(even_ticks(100.0), [0.0, 50.0, 100.0]);
        assert_eq!(even_ticks(7.0), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(log_ticks(1.0, 250.0), [1.0, 10.0, 100.0]);
    }

    #[test]
    fn every_series_is_drawn_inside_of_its_frame() {
        let show = |n: f64| n.to_string();
        let axis = |log| Axis { from: 1.0, to: 10.0, ticks: vec![1.0, 10.0], label: "x", show: &show, log };
        let svg = lines("t", &axis(false), &axis(true), &[vec![(1.0, 0.0), (10.0, 99.0)], vec![]]);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(&format!("{LEFT:.1},{:.1} {:.1},{TOP:.1}", HEIGHT - BOTTOM, WIDTH - RIGHT)), "{svg}");
    }
}
