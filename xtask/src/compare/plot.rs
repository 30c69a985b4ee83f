//! The ratios as a picture: a row for each scenario, a mark for each server, on a logarithmic scale.

use std::fmt::Write as _;

use super::page::ratio;
use super::rotation::{Entry, Results, Role};
use super::scenario::Kind;
use super::stack::Stack;
use super::statistics::{Spread, short};

/// An SVG.
pub(super) fn draw(results: &Results) -> String {
    let rows: Vec<_> =
        results.scenarios.iter().filter(|(scenario, _)| scenario.kind == Kind::Server).collect();
    let stacks: Vec<Stack> = results.versions.iter().map(|(stack, _)| *stack).collect();
    let first = Entry { stack: stacks.iter().copied().min().unwrap_or(Stack::Tonic), role: Role::Pinned };
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    scale(&mut svg, height - BOTTOM);
    for (number, (scenario, entries)) in rows.iter().enumerate() {
        let y = TOP + ROW * (number as f64 + 0.5);
        let _ = writeln!(svg, "<text x=\"8\" y=\"{:.1}\">{}</text>", y + 4.0, scenario.title);
        let _ =
            writeln!(svg, "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{RIGHT}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>");
        for &entry in entries {
            let windows = results.windows(scenario, entry);
            if let Some(spread) = ratio(windows, results.windows(scenario, first)) {
                mark(&mut svg, entry.stack, spread, y);
            }
        }
    }
    legend(&mut svg, &stacks, height);
    svg.push_str("</svg>\n");
    svg
}

fn scale(svg: &mut String, bottom: f64) {
    for share in [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0] {
        let x = place(share);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#eee\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{share}</text>",
            TOP - 8.0
        );
    }
}

/// A line from the least to the most, and a dot at the median.
fn mark(svg: &mut String, stack: Stack, spread: Spread, y: f64) {
    let (x1, x, x2) = (place(spread.least), place(spread.median), place(spread.most));
    let color = color(stack);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y:.1}\" x2=\"{x2:.1}\" y2=\"{y:.1}\" stroke=\"{color}\" stroke-width=\"3\"/>\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"><title>{} {}</title></circle>",
        stack.name(),
        short(spread.median)
    );
}

fn legend(svg: &mut String, stacks: &[Stack], height: f64) {
    let mut x = 8.0;
    for &stack in stacks {
        let y = height - BOTTOM / 2.0;
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + 5.0,
            color(stack),
            x + 14.0,
            y + 4.0,
            stack.name()
        );
        x += 34.0 + 7.0 * stack.name().len() as f64;
    }
}

/// Where a share of the first stack's time lies.
fn place(share: f64) -> f64 {
    let position = (share.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + position * (RIGHT - LEFT)
}

/// Told apart by those who do not see all colours (Okabe and Ito).
fn color(stack: Stack) -> &'static str {
    match stack {
        Stack::Tonic => "#000000",
        Stack::Peregrine => "#d55e00",
        Stack::Volo => "#0072b2",
        Stack::Connect => "#56b4e9",
        Stack::Pajamax => "#cc79a7",
        Stack::GrpcGo => "#009e73",
        Stack::Floor => "#999999",
    }
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 34.0;
const ROW: f64 = 30.0;
const BOTTOM: f64 = 40.0;
/// The ends of the scale.
const LEAST: f64 = 0.015;
const MOST: f64 = 10.0;
