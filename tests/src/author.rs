//! Commands as the author of a policy gives them, in a folder of their own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::broker::binary;

/// A shell or any other program in a folder: it finds the binary under test, needs no network, and keeps what cargo builds between tests.
pub fn command(program: impl AsRef<std::ffi::OsStr>, directory: &Path) -> Command {
    let mut command = Command::new(program);
    let tools = binary().parent().expect("the binary lies in a folder").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    command.current_dir(directory).env("PATH", format!("{}:{path}", tools.display())).env("CARGO_NET_OFFLINE", "true");
    for settings in ["CARGO_TARGET_DIR", "TIDEGATE_CONFIG", "TIDEGATE_PLUGINS", "TIDEGATE_TOKEN", "TIDEGATE_ADMIN"] {
        command.env_remove(settings);
    }
    command.env("CARGO_BUILD_BUILD_DIR", build_directory());
    command
}

/// Where cargo keeps what lies between sources and results.
fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("a test runs from a file");
    test.ancestors().nth(3).expect("a test lies in cargo's target directory").join("authors")
}

/// Its standard output; panics with all that it said if it failed.
pub fn succeeded(what: &str, output: Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    assert!(output.status.success(), "{what} failed ({}):\n{out}\n{err}", output.status);
    out
}
