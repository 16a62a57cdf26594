//! How a store answers and what it charges.
//!
//! The two that are built in are assumptions, each with its source; a file takes what was measured on the store at hand.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tidegate::cost::Prices;
use tidegate::error::{Error, ErrorKind, Result};

use super::Latency;

/// Largest file that is read as a model.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreModel {
    /// What reports call it.
    pub name: String,
    /// PUT and DELETE.
    pub put: Latency,
    /// GET, HEAD and LIST.
    pub get: Latency,
    /// PUTs and DELETEs a second beyond which it asks to slow down; 0: never.
    pub puts_per_s: u64,
    /// GETs, HEADs and LISTs a second beyond which it asks to slow down; 0: never.
    pub gets_per_s: u64,
    /// What it charges.
    pub prices: Prices,
}

impl StoreModel {
    /// S3 Standard, one prefix. Latencies: Amazon's guide to performance says 100 to 200 ms for small objects, measurements of others are lower
    /// (Quickwit: a first byte in 30 ms, tails of 80 ms and more, 80 MB/s a request). Limits: Amazon's 3,500 and 5,500 for each prefix.
    pub fn s3_standard() -> Self {
        Self {
            name: "s3-standard".to_owned(),
            put: Latency { p50_us: 60_000, p99_us: 200_000, bytes_per_s: 80_000_000 },
            get: Latency { p50_us: 30_000, p99_us: 120_000, bytes_per_s: 80_000_000 },
            puts_per_s: 3_500,
            gets_per_s: 5_500,
            prices: Prices::S3_STANDARD,
        }
    }

    /// S3 Express One Zone: Amazon promises single-digit milliseconds, and hundreds of thousands of requests a second.
    pub fn s3_express() -> Self {
        Self {
            name: "s3-express".to_owned(),
            put: Latency { p50_us: 6_000, p99_us: 15_000, bytes_per_s: 150_000_000 },
            get: Latency { p50_us: 4_000, p99_us: 10_000, bytes_per_s: 150_000_000 },
            puts_per_s: 100_000,
            gets_per_s: 100_000,
            prices: Prices::S3_EXPRESS,
        }
    }

    /// A model that is built in, or a TOML file.
    ///
    /// [`InvalidInput`](ErrorKind::InvalidInput) names file, key and range.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "s3-standard" => Ok(Self::s3_standard()),
            "s3-express" => Ok(Self::s3_express()),
            file => Self::read(Path::new(file)),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        let invalid = |problem: String| Error::new(ErrorKind::InvalidInput, format!("store model {path:?} {problem}"));
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text));
        read.map_err(|e| invalid(format!("is neither s3-standard nor s3-express, and as a file it cannot be read: {e}")))?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(invalid(format!("has more than {MAX_FILE_BYTES} bytes: it has but a few lines")));
        }
        let model: Self = toml::from_str(&text).map_err(|e| invalid(format!("is not understood: {e}")))?;
        for (key, latency) in [("put", model.put), ("get", model.get)] {
            if latency.p99_us < latency.p50_us {
                return Err(invalid(format!("has {key}.p99_us = {}, below its p50_us = {}", latency.p99_us, latency.p50_us)));
            }
        }
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_toml_file() {
        for model in [StoreModel::s3_standard(), StoreModel::s3_express()] {
            let text = toml::to_string(&model).unwrap();
            assert_eq!(toml::from_str::<StoreModel>(&text).unwrap(), model);
        }
        let error = StoreModel::named("no-such-file.toml").unwrap_err();
        assert!(error.message().contains("s3-standard") && error.message().contains("no-such-file.toml"), "{error}");
        let error = StoreModel::named("/dev/zero").unwrap_err();
        assert!(error.message().contains("more than 65536 bytes"), "{error}");
    }
}
