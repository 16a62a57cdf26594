//! The example does what it says, and again on what it left behind.

use std::process::Command;

#[test]
fn it_writes_reads_and_trims() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..2 {
        let output = Command::new(env!("CARGO_BIN_EXE_embed")).arg(directory.path()).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (first, end) = (round * 3, round * 3 + 3);
        assert!(told.starts_with(&format!("appended 3 records at offset {first}, fetched ")), "{told}");
        assert!(told.ends_with(&format!("up to offset {end}, log start {first}, end {end}\n")), "{told}");
    }
}
