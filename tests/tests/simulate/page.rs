//! The page of a simulation in a real browser: every plot is drawn, nothing runs over at the width of a desk or of a phone.
//!
//! The browser opens a harness that holds the page in a frame of each width (its own windows have a least width), measures, and writes what it
//! found into its document, which is printed.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::command::{bursty, simulate};

const WIDTHS: [u64; 2] = [1280, 400];
const PLOTS: u64 = 6;

/// Chromium, which `make tools` installs.
fn browser() -> PathBuf {
    let named = std::env::var_os("TIDEGATE_CHROMIUM").map(PathBuf::from);
    named.unwrap_or_else(|| PathBuf::from("chromium"))
}

const MEASURE: &str = r#"
<!doctype html><meta charset="utf-8"><body><pre id="found"></pre><script>
const errors = [];
addEventListener('error', event => errors.push(String(event.message)));
const texts = PAGE;
function measure(frame, width) {
  const page = frame.contentDocument, root = page.documentElement;
  const drawn = svg => {
    const box = svg.getBoundingClientRect();
    const marks = [...svg.querySelectorAll('polyline,rect.fill,rect.rail')];
    return box.width > 100 && box.height > 30 && marks.length > 0 && marks.every(mark => !/NaN/.test(mark.outerHTML));
  };
  const small = [...page.querySelectorAll('svg text')].filter(text => text.getBoundingClientRect().height < 9).length;
  const out = [...page.querySelectorAll('figure, h1, .legend')].filter(it => it.getBoundingClientRect().right > width + 1).length;
  const style = frame.contentWindow.getComputedStyle(page.body);
  return {
    width, inner: frame.contentWindow.innerWidth, scroll: root.scrollWidth, plots: [...page.querySelectorAll('figure svg')].filter(drawn).length,
    small, out, colours: style.color !== style.backgroundColor, rows: page.querySelectorAll('tbody tr').length,
  };
}
const widths = WIDTHS, found = [];
for (const width of widths) {
  const frame = document.createElement('iframe');
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.addEventListener('load', () => {
    frame.contentWindow.addEventListener('error', event => errors.push(String(event.message)));
    found.push(measure(frame, width));
    if (found.length === widths.length) document.getElementById('found').textContent = 'FOUND' + JSON.stringify({ found, errors }) + 'END';
  });
  frame.srcdoc = texts;
  document.body.append(frame);
}
</script>"#;

/// What the browser says of the page.
fn measured(directory: &std::path::Path, page: &str) -> Value {
    let text = serde_json::to_string(page).unwrap().replace("</", "<\\/");
    let harness = MEASURE.replace("PAGE", &text).replace("WIDTHS", &format!("{WIDTHS:?}"));
    let file = directory.join("harness.html");
    std::fs::write(&file, harness).unwrap();
    let mut command = Command::new(browser());
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,2000"]);
    command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
    command.args(["--virtual-time-budget=10000", "--dump-dom"]).arg(format!("file://{}", file.display()));
    let output = command.output().unwrap_or_else(|e| panic!("{}: {e}; `scripts/setup.sh browser` installs it", browser().display()));
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split_once("FOUND{").and_then(|(_, rest)| rest.split_once("END"));
    let (found, _) = found.unwrap_or_else(|| panic!("no measurement in:\n{dom}\n{}", String::from_utf8_lossy(&output.stderr)));
    serde_json::from_str(&format!("{{{found}")).unwrap()
}

#[test]
fn every_plot_is_drawn_and_nothing_runs_over() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    simulate(&bursty(directory.path()), &["--html", file.to_str().unwrap()]);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(!page.contains("http") && !page.contains("src="), "the page needs nothing from elsewhere");
    let measured = measured(directory.path(), &page);
    assert_eq!(measured["errors"], serde_json::json!([]));
    assert_eq!(measured["found"].as_array().map(Vec::len), Some(WIDTHS.len()));
    for found in measured["found"].as_array().unwrap() {
        let of = |key: &str| found[key].as_u64();
        assert_eq!(of("inner"), of("width"), "{found}");
        assert!(of("scroll") <= of("width"), "it runs over to the right: {found}");
        assert_eq!((of("plots"), of("small"), of("out")), (Some(PLOTS), Some(0), Some(0)), "{found}");
        assert!(of("rows") >= Some(15) && found["colours"] == true, "{found}");
    }
}
