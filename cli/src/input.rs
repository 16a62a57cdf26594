//! Files that a command line names. They may be anything, a device that never ends too: no more is read than a bound.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// What is expected of a file.
#[derive(Debug)]
pub(crate) struct Input {
    /// What it is called in messages.
    pub(crate) what: &'static str,
    /// Largest size that is read.
    pub(crate) most_bytes: u64,
    /// What to do about a larger one.
    pub(crate) remedy: &'static str,
}

impl Input {
    /// The bytes of a file, which may also be a pipe.
    pub(crate) fn bytes(&self, file: &Path) -> Result<Vec<u8>> {
        let Self { what, most_bytes, remedy } = self;
        let mut bytes = Vec::new();
        let read = File::open(file).and_then(|file| file.take(most_bytes + 1).read_to_end(&mut bytes));
        read.with_context(|| format!("{what} {} cannot be read", file.display()))?;
        if bytes.len() as u64 > *most_bytes {
            bail!("{what} {} has more than {most_bytes} bytes: {remedy}", file.display());
        }
        Ok(bytes)
    }

    /// The same as text.
    pub(crate) fn text(&self, file: &Path) -> Result<String> {
        let what = self.what;
        String::from_utf8(self.bytes(file)?).with_context(|| format!("{what} {} is no text in utf-8", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: Input = Input { what: "note", most_bytes: 3, remedy: "be brief" };

    #[test]
    fn no_more_is_read_than_the_bound() {
        let told = |file: &str| NOTE.bytes(Path::new(file)).unwrap_err().to_string();
        assert_eq!(told("/dev/zero"), "note /dev/zero has more than 3 bytes: be brief");
        assert_eq!(told("/no/such/note"), "note /no/such/note cannot be read");
        assert_eq!(NOTE.text(Path::new("/dev/null")).unwrap(), "");
    }

    #[test]
    fn the_bound_itself_is_read_and_text_is_utf_8() {
        let file = std::env::temp_dir().join(format!("tidegate-input-{}", std::process::id()));
        for (bytes, taken) in [(&b"abc"[..], true), (b"abcd", false), (b"\xff", false)] {
            std::fs::write(&file, bytes).unwrap();
            assert_eq!(NOTE.text(&file).is_ok(), taken, "{bytes:?}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}
