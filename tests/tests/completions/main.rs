//! Completion in real shells, by the scripts that the binary prints: commands, and the keys of the config of the component on the line.

#![allow(clippy::unwrap_used, reason = "the steps of a scenario are functions, not only those marked as tests")]

use std::path::Path;
use std::process::Command;

use tidegate_tests::author;
use tidegate_tests::broker::{binary, plugin};

/// All keys of `flush-latency`, which is on the lines below.
const KEYS: [&str; 3] = ["idle_age_ms=", "max_bytes=", "target_ms="];

fn component() -> String {
    plugin("flush-latency").display().to_string()
}

/// Lines of which the component takes a config, up to the component, which is their last word.
fn lines() -> [String; 3] {
    let component = component();
    [
        format!("policy set '*' flush {component}"),
        format!("policy --token t set --by me '*' flush {component}"),
        format!("policy shadow logs flush {component}"),
    ]
}

/// What bash would offer for the last of these words.
fn in_bash(words: &[&str]) -> Vec<String> {
    let script = "source <(\"$1\" completions bash); shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                  _tidegate_keys \"${COMP_WORDS[0]}\" \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", script, "bash"]).arg(binary()).arg(binary()).args(words).output().expect("bash runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_the_keys_of_the_component_on_the_line() {
    assert_eq!(in_bash(&["pol"]), ["policy"]);
    let component = component();
    for line in lines() {
        let line: Vec<&str> = line.split(' ').collect();
        assert_eq!(in_bash(&[&line[..], &[""]].concat()), KEYS, "{line:?}");
        assert_eq!(in_bash(&[&line[..], &["max_bytes", "=", "5", "t"]].concat()), ["target_ms="], "{line:?}");
    }
    assert_eq!(in_bash(&["policy", "set", "logs", "flush", &component, "max_bytes", "="]), [""], "a value is the operator's");
    assert_eq!(in_bash(&["policy", "set", "logs", "flush", &component, "--dig"]), ["--digest"]);
    assert_eq!(in_bash(&["policy", "set", "logs", "flush", "/no/such.wasm", "m"]), [""]);
}

/// What a shell offers for arguments of `tidegate`.
type Offers = fn(folder: &Path, arguments: &str) -> Vec<String>;

/// Writes the script of a shell to where that shell looks for it, and looks what it offers.
fn completes_commands_and_keys(shell: &str, file: &str, offers: Offers) {
    let folder = tempfile::tempdir().unwrap();
    let printed = author::succeeded("completions", author::command(binary(), folder.path()).args(["completions", shell]).output().unwrap());
    std::fs::write(folder.path().join(file), printed).unwrap();
    let offers = |arguments: &str| offers(folder.path(), arguments);
    assert_eq!(offers("pol"), ["policy"]);
    assert_eq!(offers("policy set --di"), ["--digest"]);
    // Fish offers subcommands beside them where there are any.
    let keys = |arguments: &str| offers(arguments).into_iter().filter(|offer| offer.ends_with('=')).collect::<Vec<_>>();
    for line in lines() {
        assert_eq!(keys(&format!("{line} ")), KEYS, "{line}");
        assert_eq!(keys(&format!("{line} max_bytes=5 t")), ["target_ms="], "{line}");
    }
    let nothing: [&str; 0] = [];
    assert_eq!(offers("policy set logs flush /no/such.wasm m"), nothing);
    assert_eq!(offers(&format!("policy set logs flush {} max_bytes=5", component())), nothing, "a value is the operator's");
}

fn in_fish(folder: &Path, arguments: &str) -> Vec<String> {
    let mut fish = author::command("fish", folder);
    let script = "source tidegate.fish; complete -C \"tidegate $argv[1]\"";
    let said = author::succeeded("fish", fish.args(["--no-config", "-c", script, arguments]).output().expect("fish runs"));
    said.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs fish, which not every machine has: `make test` runs it where it is"]
fn fish_completes_commands_and_the_keys_of_the_component_on_the_line() {
    completes_commands_and_keys("fish", "tidegate.fish", in_fish);
}

/// The same each of two times: the first one loads the script.
fn in_zsh(folder: &Path, arguments: &str) -> Vec<String> {
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/completions/ask.zsh");
    let mut zsh = author::command("zsh", folder);
    let line = format!("tidegate {arguments}");
    let said = author::succeeded("zsh", zsh.arg("-f").arg(ask).arg(folder).arg(line).output().expect("zsh runs"));
    let of = |time: &str| -> Vec<String> { said.lines().filter_map(|line| line.strip_prefix(time)).map(str::to_owned).collect() };
    assert_eq!(of("first "), of("second "), "{arguments}");
    of("first ")
}

#[test]
#[ignore = "needs zsh, which not every machine has: `make test` runs it where it is"]
fn zsh_completes_commands_and_the_keys_of_the_component_on_the_line() {
    completes_commands_and_keys("zsh", "_tidegate", in_zsh);
}
