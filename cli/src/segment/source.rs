//! Where an object's bytes come from: a file, or a key of a store.

use std::path::Path;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use tidegate::Settings;
use tidegate::config::SettingsFile;
use tidegate::env::Env;
use tidegate::metrics::Metrics;
use tidegate::store::{self, GetRange};

use crate::args::ObjectArgs;
use crate::input::Input;

/// Objects are at most 256 MiB of records; their indexes and footers come on top.
const MAX_OBJECT_BYTES: u64 = 512 << 20;
const OBJECT: Input = Input { what: "object", most_bytes: MAX_OBJECT_BYTES, remedy: "no object of a log has more" };

pub(crate) fn read(object: &ObjectArgs) -> Result<Bytes> {
    match &object.config {
        None => {
            let file = Path::new(&object.object);
            let bytes = OBJECT
                .bytes(file)
                .with_context(|| format!("{} is taken for a file; with --config it is a key of that store", file.display()))?;
            Ok(bytes.into())
        }
        Some(config) => {
            let mut file = SettingsFile::read(config)?;
            file.take::<toml::Table>("broker")?;
            stored(&file.settings()?, &object.object)
        }
    }
}

fn stored(settings: &Settings, key: &str) -> Result<Bytes> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let metrics = std::sync::Arc::new(Metrics::default());
        let store = store::connect(&settings.store, &Env::system(), &metrics).await?;
        let size = store.head(key).await?.size;
        if size > MAX_OBJECT_BYTES {
            bail!("object {key:?} has {size} bytes, no object of a log has more than {MAX_OBJECT_BYTES}");
        }
        Ok(store.get(key, GetRange::Full).await?.bytes)
    })
}
