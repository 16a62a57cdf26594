//! The outline of a component: what it imports, exports and carries, read without compiling it.

use wasmparser::{Parser, Payload, Validator, WasmFeatures};

use super::LoadError;
use super::guest_log::escape;
use crate::policy::guard::FaultClass;

/// Of the parser's message, so much is kept, in bytes.
const MAX_MESSAGE: usize = 512;

/// Names at the top of a component, in its order.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

/// What the engine is configured for: no threads, garbage collection, exceptions, 64-bit memories or relaxed SIMD, whose results differ
/// between machines.
fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::COMPONENT_MODEL
}

impl Outline {
    /// Parses and validates all of it. Custom sections may have `custom_limit` bytes together: debug information belongs elsewhere.
    pub(super) fn read(bytes: &[u8], custom_limit: u64) -> Result<Self, LoadError> {
        if let Err(error) = Validator::new_with_features(features()).validate_all(bytes) {
            return Err(refuse(bytes, &error));
        }
        Self::names(bytes, custom_limit).map_err(|error| refuse(bytes, &error))?
    }

    fn names(bytes: &[u8], custom_limit: u64) -> wasmparser::Result<Result<Self, LoadError>> {
        let (mut outline, mut depth, mut custom) = (Self::default(), 0_u32, 0_u64);
        for payload in Parser::new(0).parse_all(bytes) {
            match payload? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::CustomSection(section) => custom += section.data().len() as u64,
                Payload::ComponentImportSection(imports) if depth == 0 => {
                    for import in imports {
                        outline.imports.push(import?.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(exports) if depth == 0 => {
                    for export in exports {
                        outline.exports.push(export?.name.name.to_owned());
                    }
                }
                _ => {}
            }
        }
        if custom > custom_limit {
            let problem = format!("the component carries {custom} bytes of custom sections, at most {custom_limit} are allowed");
            return Ok(Err(LoadError::new(FaultClass::TooLarge, problem, "strip its debug information, or raise policy.custom_bytes")));
        }
        Ok(Ok(outline))
    }
}

fn refuse(bytes: &[u8], error: &wasmparser::BinaryReaderError) -> LoadError {
    // The parser quotes names, which are the component's to choose.
    let at = format!("{} (at byte {} of {})", escape(error.message(), MAX_MESSAGE), error.offset(), bytes.len());
    if Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).is_ok() {
        let problem = format!("the component needs a WebAssembly feature that is off here: {at}");
        return LoadError::new(FaultClass::FeatureDisabled, problem, "build it for plain wasm32 without threads, exceptions or memory64");
    }
    if error.message().contains("unexpected end") || error.offset() >= bytes.len() {
        return LoadError::new(FaultClass::Truncated, format!("the component is cut short: {at}"), "copy or build it again");
    }
    LoadError::new(FaultClass::NotWasm, format!("the component does not parse: {at}"), "copy or build it again")
}
