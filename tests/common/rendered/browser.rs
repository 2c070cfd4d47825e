//! Runs a Chromium without a window on pages, and returns the shown pages.
//!
//! A page is loaded as it is, into a frame of another page with a script that reads it: the page's
//! own policy, which forbids scripts, stays in force.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::seen::Page;

/// Names of the program on PATH.
const NAMES: [&str; 6] = [
    "chromium",
    "chromium-browser",
    "chromium-headless-shell",
    "chrome-headless-shell",
    "google-chrome",
    "google-chrome-stable",
];
/// Names the program if it is not on PATH.
const VARIABLE: &str = "STRESS_CHROMIUM";
const PROBE: &str = include_str!("probe.js");
/// A desktop's and a phone's width, in pixels: bars and marks move with it.
pub(crate) const WIDTHS: [u32; 2] = [1200, 420];
const BEGIN: &str = "<pre id=\"seen\">";

/// Each page as shown at each of [`WIDTHS`]: first all widths of the first page. `None` without a
/// browser, which is said on standard error.
pub(crate) fn shown(pages: &[String]) -> Option<Vec<Page>> {
    let Some(program) = program() else {
        skip();
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut frames = String::new();
    for (place, page) in pages.iter().enumerate() {
        fs::write(dir.path().join(format!("{place}.html")), page).unwrap();
        for width in WIDTHS {
            frames.push_str(&format!(
                "<iframe src=\"{place}.html\" width=\"{width}\" height=\"2000\"></iframe>\n"
            ));
        }
    }
    let reader = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><style>iframe {{ border: 0; display: block }}</style>\n\
         {frames}{BEGIN}</pre>\n<script>{PROBE}</script>"
    );
    fs::write(dir.path().join("reader.html"), reader).unwrap();
    let dom = dumped(&program, dir.path());
    let (_, seen) = dom.split_once(BEGIN).unwrap_or_else(|| panic!("the reader is gone: {dom}"));
    let (seen, _) = seen.split_once("</pre>").unwrap();
    let seen: Vec<Page> = serde_json::from_str(seen)
        .unwrap_or_else(|error| panic!("{error}: the reader's script failed: {seen:.400}"));
    assert_eq!(seen.len(), pages.len() * WIDTHS.len());
    Some(seen)
}

/// Says it past the harness, which hides the output of passing tests.
fn skip() {
    let words = format!(
        "skipped: no Chromium is on PATH and {VARIABLE} names none: what a browser shows of pages \
         is not checked (Debian: apt-get install chromium)\n"
    );
    std::io::stderr().write_all(words.as_bytes()).unwrap();
}

/// The program; `None` without one.
fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        assert!(named.is_file(), "{VARIABLE} names no file: {}", named.display());
        return Some(named);
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let all = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|path| path.is_file())
}

/// The reader's document once all pages are loaded.
fn dumped(program: &Path, dir: &Path) -> String {
    let profile = format!("--user-data-dir={}", dir.join("profile").display());
    let mut command = Command::new(program);
    command.args([
        "--headless",
        // Containers and root have no sandbox; the pages are our own.
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--force-device-scale-factor=1",
        "--window-size=1300,2000",
        // The reader may look into its frames.
        "--allow-file-access-from-files",
        "--timeout=120000",
        "--dump-dom",
    ]);
    command.arg(profile).arg(format!("file://{}", dir.join("reader.html").display()));
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} failed: {error}", program.display());
    String::from_utf8(output.stdout).unwrap()
}
